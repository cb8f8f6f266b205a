"""Plain tables for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence


def print_table(rows: Sequence[Mapping[str, object]], title: str | None = None) -> None:
    """Rows under the names of the first one's columns; says so where there are none."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    if not rows:
        console.print("nothing to show")
        return
    table = Table(box=None, title=title, title_justify="left", pad_edge=False)
    for name, value in rows[0].items():
        table.add_column(name, justify="right" if isinstance(value, int | float) else "left", overflow="fold")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    console.print(table)
