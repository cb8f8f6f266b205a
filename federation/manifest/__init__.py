"""From what people write to what placement reads, and back: manifests in, workloads out, one object for each cluster.

A manifest is somebody else's format: every complaint names the document, the field and the rule, and what is not
understood is refused rather than passed over, since a skipped field would place the workload where it cannot run.
"""

from federation.manifest.documents import COMPANIONS, KINDS, read_documents
from federation.manifest.form import read_form
from federation.manifest.read import Bundle, Manifest, read_bundle, read_manifest
from federation.manifest.share import object_for

__all__ = [
    "COMPANIONS",
    "KINDS",
    "Bundle",
    "Manifest",
    "object_for",
    "read_bundle",
    "read_documents",
    "read_form",
    "read_manifest",
]
