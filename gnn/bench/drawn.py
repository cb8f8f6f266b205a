"""A network whose weights were drawn and not trained: of the same size and speed as a real one, and as good as none.

For measuring how long an answer takes, and for tests of what stands around a policy.
"""

from __future__ import annotations

import numpy as np

from federation.placement.scorer import FACTORS
from gnn.forms import Form, Rule, width_of
from gnn.graph.features import width
from gnn.graph.value import NODE_TYPES
from gnn.shape import EncoderShape, Kind, NetworkShape
from gnn.wiring import WIDTH
from prewarm.domain import Float32Array
from prewarm.settings import FactorWeights

SMALL = EncoderShape(layers=1)


def drawn_shape(form: Form = Form.WEIGHTS, encoder: EncoderShape = SMALL) -> NetworkShape:
    """A network over the federation's factors, relative to its rule."""
    rule = FactorWeights()
    return NetworkShape(Rule(tuple(getattr(rule, name) for name in FACTORS)), form, encoder, FACTORS)


def drawn_weights(shape: NetworkShape, rng: np.random.Generator, spread: float = 0.2) -> dict[str, Float32Array]:
    """Weights under the names that a trained network has."""
    hidden, factors = shape.encoder.hidden, len(shape.rule.weights)
    lines = {f"encoder.enter.{kind}": (hidden, width(kind)) for kind in NODE_TYPES}
    lines |= {"question.first": (hidden, 2 * hidden + factors + 1), "question.second": (hidden, hidden)}
    lines |= {"head": (hidden, 2 * hidden), "last": (width_of(shape.form, factors), hidden)}
    rounds = range(shape.encoder.layers) if shape.encoder.kind is Kind.ATTENTION else ()
    sizes: dict[str, tuple[int, ...]] = {}
    for number in rounds:
        name = f"encoder.rounds.{number}"
        lines |= {f"{name}.ends.{kind}": (2 * hidden, hidden) for kind in NODE_TYPES}
        lines |= {f"{name}.mix": (hidden, 2 * hidden), f"{name}.out": (hidden, hidden)}
        sizes |= {f"{name}.edge.weight": (2 * hidden, WIDTH), f"{name}.norm.weight": (hidden,)}
        sizes |= {f"{name}.norm.bias": (hidden,), f"{name}.score": (shape.encoder.heads, hidden // shape.encoder.heads)}
    if not rounds:
        fleet = len(NODE_TYPES) if shape.encoder.kind is Kind.DEEPSETS else 0
        lines |= {f"encoder.mix.{kind}": (hidden, (1 + fleet) * hidden) for kind in NODE_TYPES}
    for name, (rows, columns) in lines.items():
        sizes |= {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}
    return {name: rng.normal(0.0, spread, size).astype(np.float32) for name, size in sizes.items()}
