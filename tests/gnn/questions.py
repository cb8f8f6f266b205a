"""Questions as the pipeline asks them, over seeded fleets."""

from __future__ import annotations

import numpy as np

from federation.placement.pipeline import place
from federation.placement.scorer import Declined, Question, Weighing
from federation.placement.terms import Terms
from federation.placement.workload import Caller, Workload
from federation.snapshot import Snapshot
from gnn.bench.drawn import drawn_shape, drawn_weights
from gnn.forms import Form
from gnn.shape import EncoderShape
from gnn.student import Student
from tests.federation.building import Wiring, cluster, fleet

GIB = 1 << 30


class Asked:
    """A scorer that remembers what it was asked and leaves the rule to decide."""

    def __init__(self) -> None:
        self.question: Question | None = None

    def weigh(self, question: Question) -> Weighing | Declined:
        """Never."""
        self.question = question
        return Declined("only looking")


def some_shop(clusters: int = 4, price: float = 1.0, free: str = "12") -> Snapshot:
    """Ready clusters of three nodes in two regions, of rising price, with delays."""
    built = [
        cluster(f"c{at}", region="eu" if at % 2 else "us", price=price * (1.0 + 0.1 * at)).nodes(
            3, cpu="16", memory="64Gi", free={"cpu": free}
        )
        for at in range(clusters)
    ]
    delays = {(f"c{a}", f"c{b}"): 10.0 * (b - a) for a in range(clusters) for b in range(a + 1, clusters)}
    return fleet(*built, wiring=Wiring(delays))


def some_workload(key: str = "shop/cart", replicas: int = 6) -> Workload:
    """It is called from one region."""
    callers = (Caller(5.0, region="eu"),)
    return Workload(key, "deployment", replicas, requests={"cpu": 1000, "memory": GIB}, callers=callers)


def question_of(snapshot: Snapshot, workload: Workload) -> Question:
    """The question that the pipeline asks about it."""
    scorer = Asked()
    place(snapshot, workload, terms=Terms(scorer=scorer), now=snapshot.at)
    assert scorer.question is not None
    return scorer.question


def some_student(form: Form = Form.WEIGHTS, seed: int = 0) -> Student:
    """A small network with drawn weights."""
    shape = drawn_shape(form, EncoderShape(hidden=16, heads=2, layers=1))
    return Student(shape, drawn_weights(shape, np.random.default_rng(seed)))
