"""What the commands about learned placement share; nothing of it is imported before one of them is called."""

from __future__ import annotations

from pathlib import Path

from prewarm.domain import InputError


def need_learn() -> None:
    """Raises InputError, in one line, where what learning needs is not installed."""
    try:
        import gymnasium  # noqa: F401
        import torch
    except ImportError as absent:
        raise InputError("learned placement needs torch and gymnasium, which `make learn` installs") from absent

    torch.set_num_threads(1)  # at these sizes more threads only wait for each other


def shipped(task: str) -> Path:
    """Where the weights of a world ship."""
    import gnn

    return Path(gnn.__file__).parent / "models" / f"placement-{task}.npz"


def numbers_of(text: str) -> list[int]:
    """`0-9` or `0,3,7` or both. Raises InputError where it is neither."""
    found: list[int] = []
    try:
        for part in text.split(","):
            first, dash, last = part.partition("-")
            found += range(int(first), int(last) + 1) if dash else [int(first)]
    except ValueError:
        raise InputError(f"--seeds {text!r}: give numbers and ranges, like 0-9 or 0,3,7") from None
    if not found:
        raise InputError(f"--seeds {text!r}: there are none in it")
    return found


def seeds_of(text: str) -> list[int]:
    """The same; raises InputError, too, where a seed is not for evaluation."""
    from gnn.train.seeds import EVALUATION

    found = numbers_of(text)
    if not set(found) <= set(EVALUATION):
        raise InputError(f"--seeds {text!r}: evaluation seeds are {EVALUATION[0]} to {EVALUATION[-1]}")
    return found
