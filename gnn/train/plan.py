"""What a training run is told: every number of it in one place, so that the card can print them all."""

from __future__ import annotations

from dataclasses import dataclass, field

from gnn.ddpg import Settings
from gnn.noise import NoiseSettings
from gnn.reward import Price
from gnn.shape import EncoderShape
from gnn.train.seeds import VALIDATION

LEARNER = Settings(
    discount=0.9,
    actor_rate=3e-4,
    critic_rate=1e-3,
    batch=64,
    capacity=20_000,
    noise=NoiseSettings(sigma=0.3, last_sigma=0.05, steps=8_000),
    critic_first=200,
    price=Price(limit=0.02, multiplier=1.0, step=0.05),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train. A run ends with whichever of `seconds` and `questions` comes first."""

    learner: Settings = LEARNER
    encoder: EncoderShape = field(default_factory=lambda: EncoderShape(hidden=32, heads=4, layers=1))
    seconds: float | None = 600.0
    """Of wall clock, all takes of a run together, without the last judging and the export."""
    questions: int | None = None
    """Answered while exploring, lessons not counted. Seen at the end of an episode, so a run may go a little beyond."""
    lessons: int = 400
    """Questions that the teacher answers before anything is tried."""
    lessons_noise: float = 0.2
    """Size of what is added to the teacher's answers when they are carried out; what is learned stays the answer."""
    imitations: int = 300
    """Batches of behaviour cloning."""
    imitation_rate: float = 1e-3
    """The actor's learning rate while it imitates."""
    update_every: float = 2.0
    """Questions for one update."""
    begin: int = 256
    """Transitions that must be kept before the first update."""
    judge_every: int = 200
    """Updates between two judgements."""
    validation: tuple[int, ...] = tuple(VALIDATION[:8])
    save_every_s: float = 60.0
    """Seconds of wall clock between two checkpoints; how often does not change what is learned."""
