"""The names by which objects in a cluster are known to be ours, and by which people speak to us on their own objects.

Whether an object may be pruned is judged by the field manager and the label together, on the live object: a label alone
can be copied, and a field manager alone may own a single field of something that is not ours.
"""

from __future__ import annotations

DOMAIN = "prewarm.dev"
"""Prefix of labels and annotations, and API group of our custom resources and virtual resources."""

FIELD_MANAGER = "prewarm"
"""Owner of every field that we write, by server-side apply."""

MANAGED_BY = "app.kubernetes.io/managed-by"
"""Label of what we made; its value is `FIELD_MANAGER`."""
WORKLOAD = f"{DOMAIN}/workload"
"""Annotation on what was made for a workload: its key, namespace/name."""
APPLIED = f"{DOMAIN}/applied"
"""Annotation: digest of the object as we applied it, by which the same object is known to be applied already."""
COPIED_FROM = f"{DOMAIN}/copied-from"
"""Annotation on a dependency that was copied: the member it came from."""

REPLICAS = f"{DOMAIN}/replicas"
"""Annotation on a manifest: instances over the whole fleet, where the manifest has no field for it."""
REGIONS = f"{DOMAIN}/regions"
"""Annotation: regions that may be used, comma-separated."""
CLUSTERS = f"{DOMAIN}/clusters"
"""Annotation: clusters that may be used, comma-separated."""
EXCLUDE = f"{DOMAIN}/exclude-clusters"
"""Annotation: clusters that must not be used, comma-separated."""
RESIDENCY = f"{DOMAIN}/residency"
"""Annotation: regions that its data may be in, comma-separated."""
TENANT = f"{DOMAIN}/tenant"
"""Annotation: who it belongs to, for isolation."""
MAX_PER_CLUSTER = f"{DOMAIN}/max-per-cluster"
"""Annotation: most instances in one cluster."""
MIN_CLUSTERS = f"{DOMAIN}/min-clusters"
"""Annotation: fewest clusters that it must be spread over."""
PRIORITY = f"{DOMAIN}/priority"
"""Annotation: a whole number, higher goes first."""
CALLERS = f"{DOMAIN}/callers"
"""Annotation: where calls come from, as `region=calls_per_s`, comma-separated."""
GANG = f"{DOMAIN}/gang"
"""Annotation: `true` keeps all instances in one cluster, `false` allows a Job to be split."""
GPU_MILLI = f"{DOMAIN}/gpu-milli"
"""Annotation: thousandths of one GPU that an instance needs, where it shares one."""
GPU_MODELS = f"{DOMAIN}/gpu-models"
"""Annotation: GPU models that will do, comma-separated."""
READY_MINIMUM = f"{DOMAIN}/ready-minimum"
"""Annotation: never fewer ready instances than this while it moves."""

WRITTEN = frozenset({WORKLOAD, APPLIED, COPIED_FROM})
"""Annotations that we write ourselves; a manifest that was read from a cluster may carry them."""
SPOKEN = WRITTEN | {
    *(REPLICAS, REGIONS, CLUSTERS, EXCLUDE, RESIDENCY, TENANT, MAX_PER_CLUSTER, MIN_CLUSTERS, PRIORITY),
    *(CALLERS, GANG, GPU_MILLI, GPU_MODELS, READY_MINIMUM),
}
"""Every annotation under `DOMAIN` that means something: another one is a slip, and residency must not be lost by it."""
