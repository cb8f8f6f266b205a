"""Work that falls into pieces of its own: done here, or spread over a Ray cluster, with the same answers.

A piece is a function of what it is handed, seeds included, so where it is done changes no result but for machines that
round otherwise. Answers come in the order of what was asked.
"""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from prewarm.domain import InputError

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
_ANSWERS_S = 5.0


class Spread(Protocol):
    """Who does the pieces."""

    @property
    def width(self) -> int:
        """How many pieces are worth asking for at a time."""
        ...

    def map(self, work: Callable[[Asked], Answer], items: Iterable[Asked]) -> list[Answer]:
        """The answers, in order; `work` can be pickled."""
        ...


class Here:
    """One after another in this process."""

    width = 1

    def map(self, work: Callable[[Asked], Answer], items: Iterable[Asked]) -> list[Answer]:
        """The answers, in order."""
        return [work(item) for item in items]


class OverRay:
    """A piece a processor of a Ray cluster, whose machines have this package and its `learn` extra installed. A piece
    whose machine is lost is done again.
    """

    def __init__(self, address: str) -> None:
        """Join the cluster at `address` (`HOST:PORT`, `ray://HOST:PORT`, or `auto` for the one on this machine). Raises
        InputError where Ray is not installed or no cluster answers.
        """
        try:
            import ray
        except ImportError as absent:
            raise InputError("--ray needs Ray: pip install 'prewarm-fleet[ray]'") from absent
        try:
            _probe(address)
            ray.init(address=address, log_to_driver=False)
        except (OSError, RuntimeError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"--ray {address}: no Ray cluster answers ({reason})") from error
        self._ray = ray
        self._alone = ray.remote(num_cpus=1)(_alone)
        self.width = max(1, int(ray.cluster_resources().get("CPU", 1)))

    def map(self, work: Callable[[Asked], Answer], items: Iterable[Asked]) -> list[Answer]:
        """The answers, in order. An error in a piece is raised here as it was raised there."""
        handed = self._ray.put(work)
        try:
            answers: list[Answer] = self._ray.get([self._alone.remote(handed, item) for item in items])
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause or error) from error
        return answers

    def close(self) -> None:
        """Leave the cluster."""
        self._ray.shutdown()


def _probe(address: str) -> None:
    """Whether anybody listens; Ray itself would try for minutes. Raises OSError where not, ValueError where it is no
    address. `auto` is looked up by Ray.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if address != "auto":
        if not colon or not port.isdecimal():
            raise ValueError("give HOST:PORT, ray://HOST:PORT or auto")
        socket.create_connection((host, int(port)), _ANSWERS_S).close()


def _alone(work: Callable[[Any], Any], item: Any) -> Any:
    """A piece on one thread, as it is done here."""
    _one_thread()
    return work(item)


@functools.cache
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)
