"""Progress of long work: a bar with the time left, on the standard error, and only where a person watches it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Is told the share done (0 to 1) and, if it likes, what is being done."""

    def __call__(self, share: float, doing: str = "") -> None:
        """Show it."""
        ...


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """Yields what long work tells its progress; it is silent without a terminal."""
    if not sys.stderr.isatty():
        yield _silent
        return
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)

        def show(share: float, doing: str = "") -> None:
            bar.update(task, completed=share, description=f"{title}: {doing}" if doing else title)

        yield show


def _silent(share: float, doing: str = "") -> None:
    del share, doing
