"""Latency of calls by formula: tiers of replicas in some clusters, waits by Erlang C, hops where tiers are apart.

Each line is an M/G/c queue whose wait is that of M/M/c with the mean scaled by (1 + cv^2) / 2 (Lee and Longton, 1959),
independent of the others; calls choose clusters in proportion to the ready replicas, as in the simulator. Sums are
taken on a grid of half a millisecond by Fourier transform. An overloaded line counts as a time-out.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from gnn.published.kernel.layout import BIN_S, BINS, CHAINS, TIERS
from gnn.published.world.laws import lognormal_parameters
from gnn.published.world.web import SERVICE_CV, SERVICE_S
from prewarm.domain import FloatArray, IntArray

_SIZE = 4 * (BINS - 1)


def erlang_c(servers: int, busy: float) -> float:
    """Chance that a call waits where `busy` of `servers` are on average; 1 where they are too few."""
    if busy >= servers:
        return 1.0
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = busy * blocked / (k + busy * blocked)
    return servers * blocked / (servers - busy * (1.0 - blocked))


def p99_ms(ready: IntArray, rates: FloatArray, delay_s: FloatArray) -> float:
    """P99 in ms over all chains. ready: (services, c) replicas; rates: (chains,) calls a second."""
    total = np.zeros(_SIZE)
    for chain in range(CHAINS):
        tiers = ready[chain * TIERS : (chain + 1) * TIERS]
        total += rates[chain] * chain_law(tiers, float(rates[chain]), delay_s)
    reached = np.cumsum(total) / rates.sum()
    at = int(np.searchsorted(reached, 0.99))
    return float(min(at, BINS - 1) * BIN_S * 1000.0)


def chain_law(tiers: IntArray, rate: float, delay_s: FloatArray) -> FloatArray:
    """Chance of each half millisecond of latency of one chain's calls; what lacks to 1 has timed out."""
    clusters = len(delay_s)
    hop = np.exp(-2j * np.pi * np.outer(np.arange(_SIZE // 2 + 1), (delay_s / BIN_S).round().ravel()) / _SIZE)
    hop = hop.reshape(-1, clusters, clusters)
    at: FloatArray | None = None
    for replicas in tiers:
        share = replicas / max(replicas.sum(), 1)
        took = np.stack([np.fft.rfft(_sojourn(int(c), rate * s)) for c, s in zip(replicas, share, strict=True)], axis=1)
        came = share if at is None else np.einsum("fj,fjk->fk", at, hop) * share
        at = came * took
    law: FloatArray = np.maximum(np.fft.irfft(np.asarray(at).sum(axis=1), _SIZE), 0.0)
    return law


def _sojourn(servers: int, rate: float) -> FloatArray:
    """Wait and service of one line on the grid; nothing where it is overloaded or has nobody."""
    busy = rate * SERVICE_S
    if servers == 0 or busy >= servers:
        return np.zeros(_SIZE)
    waits = erlang_c(servers, busy)
    speed = (servers - busy) / SERVICE_S * 2.0 / (1.0 + SERVICE_CV**2)
    edges = np.arange(BINS) * BIN_S
    wait = np.zeros(_SIZE)
    wait[1:BINS] = waits * -np.diff(np.exp(-speed * edges))
    wait[0] = 1.0 - waits
    both = np.fft.irfft(np.fft.rfft(wait) * np.fft.rfft(service_law()), _SIZE)
    return np.asarray(np.maximum(both, 0.0))


def service_law() -> FloatArray:
    """Chance of each half millisecond of one tier's service, (4 x the time-out's bins,)."""
    mu, sigma = lognormal_parameters(SERVICE_S, SERVICE_CV)
    middles = (np.arange(BINS) + 0.5) * BIN_S
    law = np.zeros(_SIZE)
    law[:BINS] = np.diff(norm.cdf((np.log(middles) - mu) / sigma), prepend=0.0)
    return law


def bare_p99_ms(inside_s: float) -> float:
    """Three tiers without any wait, and the two hops inside one cluster."""
    once = np.fft.rfft(service_law())
    reached = np.cumsum(np.fft.irfft(once**TIERS, _SIZE))
    return float((np.searchsorted(reached, 0.99) * BIN_S + (TIERS - 1) * inside_s) * 1000.0)
