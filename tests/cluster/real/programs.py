"""Where the real programs are: the folder that `make assets` printed, or what envtest users have already.

`PREWARM_ASSETS` holds everything (bin/ and crds/). The API server, etcd and kubectl alone may also come from envtest's
own variables, in its order: `TEST_ASSET_*` name single programs, `KUBEBUILDER_ASSETS` a folder, and last its default.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CONTROL_PLANE = ("etcd", "kube-apiserver", "kubectl")
"""What a bare API server needs."""
FULL = (*CONTROL_PLANE, "kube-controller-manager", "kube-scheduler", "kwok")
"""What a cluster needs whose pods run."""

_ENVTEST_DEFAULT = "/usr/local/kubebuilder/bin"


class AbsentError(Exception):
    """Programs are missing; the text is the reason that a skipped test shows."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Paths of programs by name, and the folder with CRDs and stages where there is one."""

    paths: Mapping[str, Path]
    crds: Path | None

    def __getitem__(self, name: str) -> Path:
        self.require(name)
        return self.paths[name]

    def require(self, *names: str) -> None:
        """AbsentError that says what is missing and how to get it."""
        missing = [name for name in names if name not in self.paths]
        if missing:
            raise AbsentError(f"no {', '.join(missing)} here: run `make assets` and set PREWARM_ASSETS as it says")

    def manifests(self, *parts: str) -> list[Path]:
        """The YAML files of one folder under crds/, sorted. AbsentError where it is missing."""
        folder = None if self.crds is None else self.crds.joinpath(*parts)
        if folder is None or not folder.is_dir():
            raise AbsentError(f"no crds/{'/'.join(parts)} in PREWARM_ASSETS: run `make assets`")
        return sorted(folder.glob("*.yaml"))


def find_programs(environment: Mapping[str, str] = os.environ) -> Programs:
    """Everything that is there; nothing is required yet."""
    assets = environment.get("PREWARM_ASSETS")
    folders = [Path(assets) / "bin"] if assets else []
    folders += [Path(environment.get("KUBEBUILDER_ASSETS") or _ENVTEST_DEFAULT)]
    found: dict[str, Path] = {}
    for folder in reversed(folders):
        found |= dict(_executables(folder))
    for name in CONTROL_PLANE:
        single = environment.get("TEST_ASSET_" + name.upper().replace("-", "_"))
        if single and not (assets and (Path(assets) / "bin" / name).is_file()):
            found[name] = Path(single)
    crds = Path(assets) / "crds" if assets else None
    return Programs(found, crds if crds is not None and crds.is_dir() else None)


def _executables(folder: Path) -> list[tuple[str, Path]]:
    if not folder.is_dir():
        return []
    return [(path.name, path) for path in sorted(folder.iterdir()) if path.is_file() and os.access(path, os.X_OK)]
