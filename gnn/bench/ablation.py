"""`prewarm bench ablation`: what each part of the learned policy is worth in the service's own world (`fleet`).

Simulated, in a world of our own. Every row is the whole learner but for one part, trained for the same number of
questions and updates from three seeds, and judged by its last weights, not by the best of the run: those would be the
imitation's in most rows, and hide what learning by trying did. 0 is the tuned rule. A range is the least and most over
the training seeds; all are judged on the same evaluation worlds. Runs are kept in the user's cache folder, so a bench
that was stopped goes on.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gnn.forms import Form
from gnn.mix.expected.chances import cache_folder
from gnn.published.measure.kept import Kept, Reading, seal, sources
from gnn.reward import Price
from gnn.shape import EncoderShape, Kind
from gnn.train.plan import Plan
from gnn.train.seeds import EVALUATION, VALIDATION
from prewarm.bench.result import BenchResult, Row, installed_versions
from prewarm.domain import InputError

TRAINED, QUICK_TRAINED = 3, 1
WORLDS, QUICK_WORLDS = 10, 1
NEVER = 10**9


@dataclass(frozen=True, slots=True)
class Variant:
    """A learner with one part changed. part: which; instead: by what."""

    part: str
    instead: str
    plan: Plan
    form: Form = Form.WEIGHTS


def variants(whole: Plan) -> list[Variant]:
    """The whole learner first, then with one part less at a time, or another."""

    def learner(**changes: Any) -> Plan:
        return replace(whole, learner=replace(whole.learner, **changes))

    def encoder(kind: Kind) -> Plan:
        return replace(whole, encoder=EncoderShape(kind, whole.encoder.hidden, whole.encoder.heads, 1))

    unpriced = Price(limit=whole.learner.price.limit, multiplier=0.0, step=0.0)
    untaught = replace(learner(anchor=0.0), imitations=0)
    return [
        Variant("-", "whole", whole),
        Variant("graph", "means over types (DeepSets)", encoder(Kind.DEEPSETS)),
        Variant("graph", "every node alone", encoder(Kind.ALONE)),
        Variant("replay", "even draws", learner(alpha=0.0)),
        Variant("trying", "imitation alone", replace(whole, questions=0)),
        Variant("anchor", "none", learner(anchor=0.0)),
        Variant("imitation", "none: the actor starts as the rule, no anchor", untaught),
        Variant("price of violations", "none", learner(price=unpriced)),
        Variant(
            "both", "neither imitation nor price", replace(untaught, learner=replace(untaught.learner, price=unpriced))
        ),
        Variant("form", "bounded residual", whole, Form.RESIDUAL),
        Variant("form", "direct score", whole, Form.DIRECT),
    ]


def whole_plan(*, quick: bool) -> Plan:
    """The world's own plan with a small budget in questions and updates, so that the clock changes nothing; the actor
    moves faster for it.
    """
    from gnn.fleet.task import PLAN

    learner = replace(PLAN.learner, batch=32, actor_rate=2e-4, critic_first=20 if quick else 120)
    return replace(
        PLAN,
        learner=learner,
        seconds=None,
        questions=80 if quick else 800,
        lessons=300 if quick else 1_600,
        imitations=60 if quick else 400,
        judge_every=NEVER,
        validation=(VALIDATION[0],),
    )


def run(
    data_dir: Path, *, seed: int, quick: bool = False, plot: Path | None = None, progress: Callable[[float, str], None]
) -> BenchResult:
    """Eleven learners, three seeds each; `quick` takes one seed, one world and a tenth of the questions."""
    del data_dir, plot
    _need_torch()
    made = variants(whole_plan(quick=quick))
    seeds = range(seed, seed + (QUICK_TRAINED if quick else TRAINED))
    worlds = EVALUATION[: QUICK_WORLDS if quick else WORLDS]
    kept, code = Kept(cache_folder() / "ablation.jsonl"), _code()
    found: dict[int, list[Reading]] = {number: [] for number in range(len(made))}
    for done, (one, number) in enumerate([(one, number) for one in seeds for number in range(len(made))]):
        variant = made[number]
        progress(done / len(made) / len(seeds), f"{variant.part}: {variant.instead}, seed {one}")
        reading = kept.of(_key(variant, one, worlds, code), lambda: trained(variant, one, worlds))  # noqa: B023
        found[number].append(reading)
    rows: list[Row] = [row_of(variant, found[number], found[0]) for number, variant in enumerate(made)]
    rows.append({"processor s of all runs": round(kept.computed_s), "of them now": round(kept.fresh_s)})
    return BenchResult("ablation", seed, {}, installed_versions(("prewarm-fleet", "numpy", "torch")), rows, [])


def trained(variant: Variant, seed: int, worlds: Sequence[int]) -> Reading:
    """One run, and what its last weights do in the worlds."""
    from gnn.fleet.task import FleetTask
    from gnn.shape import NetworkShape
    from gnn.student import Student
    from gnn.train.evaluate import evaluate
    from gnn.train.loop import train
    from gnn.train.run import CHECKPOINT, last_actor

    task = FleetTask(variant.form)
    with TemporaryDirectory() as name:
        done = train(task, variant.plan, Path(name), progress=_unseen, seed=seed)
        weights = {part: one.numpy() for part, one in last_actor(Path(name) / CHECKPOINT).items()}
    shape = NetworkShape(task.rule, variant.form, variant.plan.encoder, task.factors)
    judged = evaluate(task, Student(shape, weights), list(worlds), _unseen)
    return {
        "score": judged.score,
        "refused": judged.parts["refused"],
        "rule refused": judged.parts["rule refused"],
        "price": float(done.curve[-1]["price"]),
        "questions": float(done.questions),
        "updates": float(done.updates),
    }


def row_of(variant: Variant, ours: Sequence[Reading], whole: Sequence[Reading]) -> Row:
    """Mean and range over the training seeds, and the difference from the whole learner seed by seed."""
    score, refused = _column(ours, "score"), _column(ours, "refused")
    less = score - _column(whole, "score")
    return {
        "part": variant.part,
        "instead": variant.instead,
        "score": float(score.mean()),
        "range": f"{score.min():+.4f}..{score.max():+.4f}",
        "less whole": "-" if ours is whole else f"{less.mean():+.4f} ({less.min():+.4f}..{less.max():+.4f})",
        "refused %": 100.0 * float(refused.mean()),
        "refused % range": f"{100 * refused.min():.2f}..{100 * refused.max():.2f}",
        "rule's %": 100.0 * float(_column(ours, "rule refused").mean()),
        "price at the end": float(_column(ours, "price").mean()),
        "updates": int(_column(ours, "updates").max()),
    }


def _column(readings: Sequence[Reading], name: str) -> Any:
    return np.array([float(one[name] or 0.0) for one in readings])


def _key(variant: Variant, seed: int, worlds: Sequence[int], code: str) -> str:
    told = {"form": variant.form, "seed": seed, "worlds": list(worlds), "plan": dataclasses.asdict(variant.plan)}
    return f"{code} {json.dumps(told, sort_keys=True)}"


def _code() -> str:
    """What else decides a run: the learner, the networks, the world, and the pipeline that it plays with."""
    import federation
    import gnn

    package = Path(gnn.__file__).parent
    learner = [package / f"{name}.py" for name in _LEARNER]
    pipeline = list((Path(federation.__file__).parent / "placement").rglob("*.py"))
    return seal([*sources(package / "fleet", package / "graph"), *learner, *pipeline], version("torch").encode())


_LEARNER = (
    "ddpg",
    "replay",
    "noise",
    "reward",
    "networks",
    "encoder",
    "wiring",
    "forms",
    "train/lessons",
    "train/loop",
)


def _need_torch() -> None:
    try:
        import torch
    except ImportError as absent:
        raise InputError("the ablation needs torch and gymnasium, which `make learn` installs") from absent
    torch.set_num_threads(1)


def _unseen(share: float, doing: str = "") -> None:
    del share, doing
