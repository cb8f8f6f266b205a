"""What must be known to build the networks, and to read their weights without torch: it is stored beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from gnn.forms import Form, Rule

STEEPEST = 8.0
"""Attention logits are held within this by a tanh, so that their exponentials need no maximum taken first."""
SLOPE = 0.2
"""Of the leaky rectifier in attention."""


class Kind(StrEnum):
    """Which encoder: attention over edges, means over types, or no graph at all."""

    ATTENTION = "attention"
    DEEPSETS = "deepsets"
    ALONE = "alone"


@dataclass(frozen=True, slots=True)
class EncoderShape:
    """hidden: width of every embedding, a multiple of heads. layers: rounds of attention, so hops that are seen."""

    kind: Kind = Kind.ATTENTION
    hidden: int = 32
    heads: int = 4
    layers: int = 2


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """The encoder, the form of the action, and the rule that it is relative to. factors: names of what is weighed, in
    order; () where nobody said, and then no service uses the weights.
    """

    rule: Rule
    form: Form = Form.WEIGHTS
    encoder: EncoderShape = field(default_factory=EncoderShape)
    factors: tuple[str, ...] = ()
