"""Every kind of node in the fleet once: filters on labels and taints look at kinds, and rows only look up the answer.

A fleet has thousands of rows and some dozens of kinds. Answers are remembered by question, since most workloads ask
the same (no selector, no toleration); the table only grows, so the numbers of kinds stay true while clusters change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from federation.snapshot import ARCH_LABEL, NodeClass
from prewarm.domain import BoolArray, Int32Array

GPU_MODEL_LABELS = ("prewarm.dev/gpu-model", "nvidia.com/gpu.product", "alibabacloud.com/gpu-card-model")
"""Labels that may name a node's GPU model; the first that is there counts."""
_REMEMBERED = 512


@dataclass(slots=True)
class ClassTable:
    """Kinds of nodes by number, and remembered answers about them; a memo, so sharing it changes no decision."""

    kinds: list[NodeClass] = field(default_factory=list)
    labels: list[dict[str, str]] = field(default_factory=list)
    architectures: set[str] = field(default_factory=set)
    _number: dict[NodeClass, int] = field(default_factory=dict)
    _answers: dict[object, BoolArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.kinds)

    def numbers(self, kinds: Iterable[NodeClass]) -> Int32Array:
        """The numbers of some kinds, new ones added."""
        return np.array([self._number_of(kind) for kind in kinds], dtype=np.int32)

    def holds(self, question: object, test: Callable[[int], bool]) -> BoolArray:
        """`test` of every kind by its number, remembered under `question`, which must tell questions apart."""
        known = self._answers.get(question)
        seen = 0 if known is None else len(known)
        if known is None or seen < len(self.kinds):
            fresh = np.array([test(number) for number in range(seen, len(self.kinds))], dtype=np.bool_)
            known = fresh if known is None else np.concatenate([known, fresh])
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            self._answers[question] = known
        return known

    def gpu_model(self, number: int) -> str | None:
        """The GPU model that a kind names, None where it names none."""
        labels = self.labels[number]
        return next((labels[name] for name in GPU_MODEL_LABELS if name in labels), None)

    def _number_of(self, kind: NodeClass) -> int:
        number = self._number.get(kind)
        if number is None:
            number = self._number[kind] = len(self.kinds)
            self.kinds.append(kind)
            labels = dict(kind.labels)
            self.labels.append(labels)
            self.architectures.update(labels[name] for name in (ARCH_LABEL,) if name in labels)
        return number
