"""Several real clusters at once, started and stopped side by side under one temporary folder.

However the owner ends, nothing is left: `with` stops the parts in order, and if the owner is killed before it can, a
watcher process (lifeline) kills them and deletes the folder.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster.real import lifeline
from tests.cluster.real.cluster import Cluster, ClusterPlan
from tests.cluster.real.kubeconfig import write_kubeconfig
from tests.cluster.real.programs import Programs, find_programs


class Fleet:
    """Clusters by name; `with Fleet([...]) as fleet:` holds them up."""

    def __init__(self, plans: Iterable[ClusterPlan], *, programs: Programs | None = None) -> None:
        """Lay the clusters out. AbsentError where a program is missing."""
        self.folder = Path(tempfile.mkdtemp(prefix="prewarm-fleet-"))
        self._watcher = lifeline.hold(self.folder)
        found = programs or find_programs()
        try:
            self._clusters = {plan.name: Cluster(plan, self.folder / plan.name, found) for plan in plans}
        except BaseException:
            self._forget()
            raise

    def __enter__(self) -> Self:
        """Start all clusters at the same time and wait for all. ProcessError, after stopping what had started."""
        try:
            self._each(Cluster.start)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getitem__(self, name: str) -> Cluster:
        return self._clusters[name]

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self._clusters.values())

    def __len__(self) -> int:
        return len(self._clusters)

    def kubeconfig(self, path: Path | None = None) -> Path:
        """A kubeconfig file with one context a cluster, as its administrator."""
        return write_kubeconfig(path or self.folder / "kubeconfig", [cluster.entry() for cluster in self])

    def repair(self) -> None:
        """Bring every part of every cluster back to life."""
        self._each(Cluster.repair)

    def close(self) -> None:
        """Stop everything, delete the data."""
        try:
            self._each(Cluster.close)
        finally:
            self._forget()

    def _forget(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        lifeline.release(self._watcher)

    def _each(self, action: Callable[[Cluster], None]) -> None:
        with ThreadPoolExecutor(len(self._clusters)) as threads:
            for done in [threads.submit(action, cluster) for cluster in self]:
                done.result()
