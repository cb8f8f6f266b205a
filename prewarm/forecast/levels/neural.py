"""The sequence model: a network over the past hits of one level, that says how likely the next minute reaches it.

Each past hit is a token of relative facts (see `neural_tokens`); a small network reads every token on its own, and
four kinds of pooling put them together: attention (what do the alike pasts say), maximum (does any lag predict a hit
now), soft counts, and a hazard whose weights are learned (of the alike gaps that got this old, how many ended now). To
pool a set of facts is the idea of Deep Sets (Zaheer et al., NIPS'17), the pooling by attention that of the Set
Transformer (Lee et al., ICML'19). Imports torch: training only; the service runs the same weights by `neural_numpy`.
"""

import math
from typing import Final

import torch
from torch import nn

from prewarm.domain import COLD_COST
from prewarm.forecast.levels.neural_tokens import AT_RISK, EXACT, FEATURES, HEADS, SCALARS

WIDTH: Final = 32
SUMS: Final = 8
LOG_ODDS_MEAN: Final = -2.05  # of the decision threshold w / 0.808, w = 60 GB / 99.69, at the marginal of memory
LOG_ODDS_SPREAD: Final = 0.6


class LevelNet(nn.Module):  # type: ignore[misc]
    """Tokens and scalars of queries -> logit of P(need reaches the level in the query's minute | past)."""

    def __init__(self, width: int = WIDTH, hidden: int = 128) -> None:
        """Layers of `width` units for tokens and `hidden`, `hidden` / 2 units for the whole."""
        super().__init__()
        self.width = width
        self.token1 = nn.Linear(FEATURES, width)
        self.token2 = nn.Linear(width, width)
        self.mix = nn.Linear(width, 2 * HEADS + SUMS)
        self.body1 = nn.Linear(SCALARS + 2 * width + SUMS + 2 * HEADS, hidden)
        self.body2 = nn.Linear(hidden, hidden // 2)
        self.out = nn.Linear(hidden // 2, 1)
        nn.init.constant_(self.out.bias, -1.5)

    def pool(self, tokens: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        """[sum(count), FEATURES], [Q] -> [Q, 2 width + SUMS + 2 HEADS]; a query without tokens gives constants."""
        h = torch.relu(self.token2(torch.relu(self.token1(tokens))))  # [N, width]
        m = self.mix(h)  # [N, 2 HEADS + SUMS]
        weight = torch.exp(m[:, : 2 * HEADS].clamp(-10, 10))
        attention = weight[:, :HEADS].repeat_interleave(self.width // HEADS, 1)
        hazard = weight[:, HEADS:]
        parts = [attention * h, weight, hazard * tokens[:, EXACT : EXACT + 1]]
        parts += [hazard * tokens[:, AT_RISK : AT_RISK + 1], torch.sigmoid(m[:, 2 * HEADS :])]
        summed = torch.segment_reduce(torch.cat(parts, 1), "sum", lengths=count, unsafe=True, initial=0.0)
        largest = torch.segment_reduce(h, "max", lengths=count, unsafe=True, initial=0.0)
        top, w, _, ended, risk, soft = summed.split([self.width, HEADS, HEADS, HEADS, HEADS, SUMS], 1)
        mean = top / (w.repeat_interleave(self.width // HEADS, 1) + 1e-4)
        rate = torch.log((ended + 0.02) / (risk + 0.2)) / 3
        return torch.cat([mean, largest, torch.log1p(soft), rate, torch.log1p(risk) / 3], 1)

    def forward(self, tokens: torch.Tensor, count: torch.Tensor, scalars: torch.Tensor) -> torch.Tensor:
        """Packed tokens float32[sum(count), FEATURES], int64[Q], float32[Q, SCALARS] -> logits float32[Q]."""
        x = torch.relu(self.body1(torch.cat([scalars, self.pool(tokens, count)], 1)))
        return self.out(torch.relu(self.body2(x)))[:, 0]


def price_loss(logit: torch.Tensor, hit: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Mean cost of deciding by these probabilities when the threshold's odds are log-normal (a fleet's memories).

    A proper scoring rule that counts errors where decisions fall: a missed hit costs 0.808 if the threshold is above p,
    an idle minute costs its threshold's odds times 0.808 if it is below. hit and weight float32[Q].
    """
    root = math.sqrt(2.0)
    far = (logit - LOG_ODDS_MEAN) / LOG_ODDS_SPREAD
    missed = COLD_COST * 0.5 * (1 + torch.erf(-far / root))
    mean_odds = math.exp(LOG_ODDS_MEAN + LOG_ODDS_SPREAD**2 / 2)
    kept = COLD_COST * mean_odds * 0.5 * (1 + torch.erf((far - LOG_ODDS_SPREAD) / root))
    return (weight * torch.where(hit > 0, missed, kept)).sum() / weight.sum()


def log_loss(logit: torch.Tensor, hit: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Weighted mean of the binary cross-entropy."""
    each = nn.functional.binary_cross_entropy_with_logits(logit, hit, reduction="none")
    return (weight * each).sum() / weight.sum()
