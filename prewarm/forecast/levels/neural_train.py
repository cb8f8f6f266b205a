"""`prewarm train sequence`: fresh days every pass, a decaying step, averaged weights, a card of what it was fed.

The loss is the log loss plus the cost of the decisions that the probabilities would lead to, so that most is learned
near the thresholds. Runs on one core in minutes, is repeatable with its seed, and writes plain arrays (.npz) that
`neural_numpy` runs without torch. Imports torch: never in the service.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from prewarm.domain import Float32Array
from prewarm.forecast.levels.neural import LevelNet, log_loss, price_loss
from prewarm.forecast.levels.neural_data import Batch, Exemplars, draw_days, draw_queries, make_timers
from prewarm.forecast.levels.neural_source import read_days
from prewarm.forecast.levels.neural_tokens import count_tokens, describe

MODEL = "neural.npz"
VERSION = "2"
BLEND_WEIGHT = 0.35  # of this model in the mean of logits with the trees, from cross-validation on the exemplars


@dataclass(frozen=True, slots=True)
class TrainPlan:
    """How long and how fast: passes over fresh days, days a pass, timers to draw from, share of minutes, step."""

    passes: int = 24
    days: int = 800
    timers: int = 4000
    minute_share: float = 0.25
    batch: int = 512
    step_size: float = 2e-3
    price_weight: float = 5.0
    average: float = 0.998
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """After a pass: its number (from 1), how many there are, mean log loss and mean price of the pass."""

    done: int
    passes: int
    log_loss: float
    price: float


def read_queries(source: Batch, pick: slice) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Tokens, counts and scalars of some queries, as `LevelNet.forward` takes them."""
    queries = source.queries[pick]
    count = count_tokens(source.minute, source.size, source.indptr, queries)
    tokens, scalars = describe(source.minute, source.size, source.indptr, source.since, queries, count)
    return torch.from_numpy(tokens), torch.from_numpy(count), torch.from_numpy(scalars)


def _average(into: dict[str, torch.Tensor], net: LevelNet, keep: float) -> None:
    for name, value in net.state_dict().items():
        into[name].mul_(keep).add_(value, alpha=1 - keep)


def train(exemplars: Exemplars, plan: TrainPlan, progress: Callable[[Progress], None] | None = None) -> LevelNet:
    """A network fitted to days drawn from the exemplars; the same exemplars and plan give the same weights."""
    torch.manual_seed(plan.seed)
    rng = np.random.default_rng(plan.seed)
    timers = make_timers(plan.timers, rng, exemplars.apart)
    net = LevelNet()
    optimiser = torch.optim.AdamW(net.parameters(), lr=plan.step_size, weight_decay=1e-3)
    average = {name: value.clone() for name, value in net.state_dict().items()}
    step = 0
    for done in range(plan.passes):
        source = draw_queries(draw_days(exemplars, timers, plan.days, rng), plan.minute_share, rng)
        starts = range(0, len(source.queries), plan.batch)
        losses = []
        for start in starts:
            part = (done + start / max(len(source.queries), 1)) / plan.passes
            size = plan.step_size * min(1.0, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * part)) + 1e-5
            optimiser.param_groups[0]["lr"] = size
            losses.append(_take_step(net, optimiser, source, slice(start, start + plan.batch), plan.price_weight))
            step += 1
            _average(average, net, min(plan.average, (1 + step) / (10 + step)))
        if progress is not None:
            mean = np.mean(losses, axis=0)
            progress(Progress(done + 1, plan.passes, float(mean[0]), float(mean[1])))
    net.load_state_dict(average)
    return net


def _take_step(
    net: LevelNet, optimiser: torch.optim.Optimizer, source: Batch, pick: slice, price_weight: float
) -> tuple[float, float]:
    logit = net(*read_queries(source, pick))
    hit, weight = torch.from_numpy(source.hit[pick]), torch.from_numpy(source.weight[pick])
    loss, price = log_loss(logit, hit, weight), price_loss(logit, hit, weight)
    optimiser.zero_grad()
    (loss + price_weight * price).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimiser.step()
    return loss.item(), price.item()


def weights(net: LevelNet) -> dict[str, Float32Array]:
    """The network's arrays by name, as `neural_numpy.NeuralLevels` takes them."""
    return {name: value.detach().numpy().astype(np.float32) for name, value in net.state_dict().items()}


def write(net: LevelNet, path: Path, facts: Mapping[str, object]) -> dict[str, object]:
    """The weights to `path` (.npz) and a card beside it (.json): the facts given and the size; the card."""
    arrays = weights(net)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, allow_pickle=False, **arrays)
    card = {"model": "LevelNet", "parameters": int(sum(a.size for a in arrays.values())), **facts}
    path.with_suffix(".json").write_text(json.dumps(card, indent=1) + "\n")
    return card


def train_neural(
    traces: Path,
    seed: int,
    out_dir: Path,
    *,
    plan: TrainPlan | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> dict[str, object]:
    """Fit the network on the exemplars under `traces` and write it with its card to `out_dir`; the card.

    On one thread, so that the same seed and versions give the same weights. InputError where a file is absent.
    """
    began = time.perf_counter()
    plan = replace(plan or TrainPlan(), seed=seed)
    exemplars, read = read_days(traces)
    passes: list[Progress] = []

    def tell(done: Progress) -> None:
        passes.append(done)
        if progress is not None:
            progress(done.done / done.passes, f"pass {done.done} of {done.passes}, log loss {done.log_loss:.4f}")

    torch.set_num_threads(1)
    net = train(exemplars, plan, tell)
    facts: dict[str, object] = {
        "version": f"{VERSION}.{seed}",
        "what": "P(N >= k) per function, level and minute, from the hits and marks of the last 1,440 minutes; no clock",
        "command": f"prewarm train sequence --seed {seed}",
        "seed": seed,
        "data": read,
        "settings": asdict(plan),
        "scores_on_days_made_for_the_last_pass": {
            "log_loss": round(passes[-1].log_loss, 5),
            "price": round(passes[-1].price, 5),
        },
        "blend_weight": BLEND_WEIGHT,
        "versions": {name: version(name) for name in ("torch", "numpy", "numba")},
        "wall_s": round(time.perf_counter() - began, 1),
    }
    return write(net, out_dir / MODEL, facts)
