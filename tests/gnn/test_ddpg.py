"""The learner on problems of known answer, beside torchrl's losses, and taken up again as if never interrupted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from federation.placement.scorer import Declined
from gnn.forms import Form, Rule
from gnn.noise import Law, NoiseSettings
from gnn.replay import Transition
from gnn.reward import Price
from gnn.shape import EncoderShape, Kind, NetworkShape

torch = pytest.importorskip("torch", reason="the learn extra is not installed")

from gnn.checkpoint import load, save, state_of  # noqa: E402
from gnn.ddpg import Ddpg, Settings, actor_loss, at_ends, bellman, critic_loss, follow  # noqa: E402
from tests.gnn.toys import Constant, Joined, Line, Quadratic, graph_context, graph_learner, number, stacked  # noqa: E402

LEARN_FAST = Settings(
    batch=32, tau=0.05, actor_rate=2e-2, critic_rate=2e-2, twin=False, actor_every=1, off_ends=0.0, capacity=5_000
)


def settings(**changes: Any) -> Settings:
    """Fast learning for small problems, but for some changes."""
    return replace(LEARN_FAST, **changes)


def small(form: Form = Form.WEIGHTS, kind: Kind = Kind.ATTENTION) -> NetworkShape:
    """Small networks on graphs, for one factor."""
    return NetworkShape(Rule((1.0,)), form, EncoderShape(kind, hidden=16, heads=2, layers=1))


# --- known answers


def riccati_gain(a: float, b: float, q: float, r: float, discount: float) -> float:
    """The gain k of the best u = -k x for x' = a x + b u and cost q x^2 + r u^2."""
    k, p = 0.0, q
    for _ in range(500):
        k = discount * a * b * p / (r + discount * b * b * p)
        p = q + r * k * k + discount * p * (a - b * k) ** 2
    return k


def drawn(count: int) -> list[tuple[float, float, np.ndarray]]:
    """Random states and actions to learn from."""
    x, u = np.random.default_rng(1).uniform(-1, 1, (2, count))
    return [(*one, np.array([[one[1]]], np.float32)) for one in zip(x.tolist(), u.tolist(), strict=True)]


def test_the_gain_of_a_linear_regulator_is_that_of_riccatis_equation() -> None:
    a, b, q, r, discount = 0.9, 0.5, 1.0, 0.3, 0.9
    torch.manual_seed(0)
    agent = Ddpg(settings(discount=discount, batch=64), Line(), Quadratic, stacked)
    for x, u, action in drawn(400):
        reward = -(q * x * x + r * u * u)
        agent.remember(Transition(number(x), action, reward, 0.0, number(a * x + b * u), False))
    for _ in range(500):
        agent.update()
    wanted = riccati_gain(a, b, q, r, discount)
    assert wanted == pytest.approx(0.9581, abs=1e-4)
    assert -float(agent.actor.gain.weight.detach()) == pytest.approx(wanted, abs=0.02)


def test_under_a_limit_action_and_price_settle_where_they_must() -> None:
    # maximise 2 a - a^2 while a^2 <= 1/4 on average: a = 1/2 at a price of 1
    torch.manual_seed(0)
    agent = Ddpg(settings(discount=0.0, price=Price(limit=0.25, step=0.1)), Constant(), Quadratic, stacked)
    for _, a, action in drawn(300):
        agent.remember(Transition(number(0.0), action, 2 * a - a * a, a * a, number(0.0), True))
    prices = []
    for step in range(900):
        agent.update()
        if step > 100:
            plain = agent.act(number(0.0))
            assert not isinstance(plain, Declined)
            agent.see_violations(float(plain[0, 0]) ** 2)
            prices.append(agent.price.multiplier)
    assert np.mean(prices[-200:]) == pytest.approx(1.0, abs=0.1)
    assert float(torch.tanh(agent.actor.level.detach())) == pytest.approx(0.5, abs=0.05)


def best(level: float) -> np.ndarray:
    """What a context asks for: a weight and a temperature."""
    return np.array([1.6 * level - 0.8, 0.8 - 1.6 * level])


def error_of(agent: Ddpg, rng: np.random.Generator) -> float:
    """Mean of the largest errors over all contexts; 0.40 for the best that is blind to the context."""
    errors = []
    for level in np.linspace(0.05, 0.95, 11).tolist():
        action = agent.act(graph_context(level, rng))
        assert not isinstance(action, Declined)
        errors.append(np.abs(action[0] - best(level)).max())
    return float(np.mean(errors))


def test_the_best_action_is_found_where_only_the_graph_tells_it() -> None:
    rng = np.random.default_rng(0)
    rates = settings(discount=0.0, actor_rate=2e-3, critic_rate=5e-3, critic_first=150, off_ends=0.02)
    agent = graph_learner(rates, small())
    for level in rng.random(150).tolist():
        seen = graph_context(level, rng)
        for action in rng.uniform(-1, 1, (4, 1, 2)).astype(np.float32):
            reward = -float(((action - best(level)) ** 2).sum())
            agent.remember(Transition(seen, action, reward, 0.0, seen, True))
    for _ in range(400):
        agent.update()
    assert error_of(agent, rng) < 0.25


def test_who_does_not_read_the_graph_cannot_tell_the_contexts_apart() -> None:
    agent = graph_learner(settings(), small(kind=Kind.ALONE))
    one, other = (agent.act(graph_context(level, np.random.default_rng(1))) for level in (0.0, 1.0))
    assert np.array_equal(one, other)  # type: ignore[arg-type]


def test_a_teacher_is_imitated_before_anything_is_tried() -> None:
    rng = np.random.default_rng(0)
    levels = rng.random(100).tolist()
    contexts = [graph_context(level, rng) for level in levels]
    agent = graph_learner(settings(actor_rate=5e-3), small())
    agent.imitate(contexts, [best(level)[None].astype(np.float32) for level in levels], steps=150)
    assert error_of(agent, rng) < 0.12
    mine, target = agent.actor.state_dict(), agent.actor_target.state_dict()
    assert all(torch.equal(mine[name], target[name]) for name in mine)


# --- the parts


def test_the_actor_keeps_still_until_the_critic_knows_something() -> None:
    agent = Ddpg(settings(critic_first=3, actor_every=2), Line(), Quadratic, stacked)
    for step in range(8):
        agent.remember(Transition(number(0.1 * step), np.ones((1, 1), np.float32), 1.0, 0.0, number(0.0), True))
    moved = [losses.actor is not None for losses in (agent.update() for _ in range(8)) if losses]
    assert moved == [False, False, False, True, False, True, False, True]


def test_the_lower_of_two_critics_is_believed() -> None:
    torch.manual_seed(0)
    agent = Ddpg(settings(twin=True, discount=1.0), Line(), Quadratic, stacked)
    for level, critic in zip((5.0, -2.0), agent.critic_targets, strict=True):
        torch.nn.init.constant_(critic.form.bias, level)
    kept = [
        Transition(number(0.0), np.zeros((1, 1), np.float32), 1.0, 0.0, number(0.0), ends) for ends in (False, True)
    ]
    assert agent._wanted(kept).tolist() == [-1.0, 1.0]


def test_violations_are_priced_when_they_are_learned_from_not_when_they_happen() -> None:
    agent = Ddpg(settings(price=Price(limit=0.0, multiplier=2.0, step=1.0)), Line(), Quadratic, stacked)
    kept = [Transition(number(0.0), np.zeros((1, 1), np.float32), 1.0, 0.5, number(0.0), True)]
    assert agent._wanted(kept).tolist() == [0.0]
    agent.see_violations(1.0)
    assert agent._wanted(kept).tolist() == [-0.5]


def test_learning_from_nothing_is_nothing() -> None:
    assert Ddpg(settings(), Line(), Quadratic, stacked).update() is None


def test_weights_of_the_draw_scale_the_loss() -> None:
    value, wanted = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 2.5])
    loss, error = critic_loss(value, wanted, torch.tensor([0.5, 1.0]))
    assert float(loss) == pytest.approx((0.5 * 4.0 + 0.25) / 2)
    assert error.tolist() == [2.0, 0.5]


def test_the_ends_are_dear_and_zero_is_free() -> None:
    assert float(at_ends(torch.tanh(torch.tensor([[2.0], [0.0]])))) == pytest.approx(2.0, rel=1e-3)
    assert torch.isfinite(at_ends(torch.tensor([[1.0], [-1.0]])))


def test_exploring_stays_within_the_range_and_differs_from_the_action() -> None:
    agent = Ddpg(settings(noise=NoiseSettings(sigma=3.0, last_sigma=3.0)), Line(), Quadratic, stacked)
    drawn = np.array([agent.explore(number(0.2)) for _ in range(50)])
    assert np.abs(drawn).max() == 1.0
    assert len(np.unique(drawn)) > 5


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e30])
def test_what_is_not_finite_is_declined_and_never_kept(bad: float) -> None:
    agent = Ddpg(settings(), Line(), Quadratic, stacked)
    zero = np.zeros((1, 1), np.float32)
    assert isinstance(agent.act(number(bad)), Declined)
    assert isinstance(agent.explore(number(bad)), Declined)
    assert not agent.remember(Transition(number(bad), zero, 0.0, 0.0, number(0.0), True))
    assert not agent.remember(Transition(number(0.0), zero + np.float32(bad), 0.0, 0.0, number(0.0), True))
    assert not agent.remember(Transition(number(0.0), zero, bad, 0.0, number(0.0), True))
    assert not agent.remember(Transition(number(0.0), zero, 0.0, bad, number(0.0), True))
    assert not agent.remember(Transition(number(0.0), zero, 0.0, 0.0, number(bad), False))
    assert len(agent.replay) == 0
    assert sum(agent.refused.values()) == 7


# --- beside torchrl


@pytest.mark.filterwarnings("ignore")
def test_losses_gradients_and_targets_are_torchrls() -> None:
    objectives = pytest.importorskip("torchrl.objectives", reason="the peers extra is not installed")
    actor, critic, theirs = _theirs(objectives)
    before, action, after = torch.randn(16, 3), torch.rand(16, 2) * 2 - 1, torch.randn(16, 3)
    reward, ends = torch.randn(16), torch.arange(16) % 3 == 0
    out = theirs(_told(before, action, after, reward=reward, ends=ends))
    with torch.no_grad():
        wanted = bellman(reward, critic(after, actor(after))[:, 0], ends.float(), 0.9)
    mine, _ = critic_loss(critic(before, action)[:, 0], wanted, torch.ones(16))
    climb = actor_loss(critic(before, actor(before))[:, 0])
    assert float(mine.detach()) == pytest.approx(float(out["loss_value"].detach()), rel=1e-5)
    assert float(climb.detach()) == pytest.approx(float(out["loss_actor"].detach()), rel=1e-5)
    _same_gradients(mine, critic, out["loss_value"], theirs.value_network_params)
    _same_gradients(climb, actor, out["loss_actor"], theirs.actor_network_params)

    target = by_size(Joined().parameters())
    moved = by_size(theirs.value_network_params.values(True, True))
    updater = objectives.SoftUpdate(theirs, tau=0.1)
    with torch.no_grad():
        for one, start in zip(target, by_size(theirs.target_value_network_params.values(True, True)), strict=True):
            one.copy_(start)
        for one in moved:
            one.data.add_(torch.randn(one.shape))
    updater.step()
    follow(target, moved, 0.1)
    for one, other in zip(target, by_size(theirs.target_value_network_params.values(True, True)), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def _theirs(objectives: Any) -> tuple[Any, Any, Any]:
    modules = pytest.importorskip("torchrl.modules")
    torch.manual_seed(0)
    actor, critic = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh()), Joined()
    theirs = objectives.DDPGLoss(
        modules.Actor(actor, in_keys=["observation"], out_keys=["action"]),
        modules.ValueOperator(critic, in_keys=["observation", "action"]),
        loss_function="l2",
        delay_actor=True,
        delay_value=True,
    )
    theirs.make_value_estimator(gamma=0.9)
    return actor, critic, theirs


def _told(before: Any, action: Any, after: Any, *, reward: Any, ends: Any) -> Any:
    tensordict = pytest.importorskip("tensordict")
    over = ends[:, None]
    following = {"observation": after, "reward": reward[:, None], "done": over, "terminated": over}
    return tensordict.TensorDict({"observation": before, "action": action, "next": following}, [16])


def _same_gradients(loss: Any, module: Any, their_loss: Any, their_weights: Any) -> None:
    mine = torch.autograd.grad(loss, by_size(module.parameters()))
    theirs = torch.autograd.grad(their_loss, by_size(their_weights.values(True, True)), retain_graph=True)
    for one, other in zip(mine, theirs, strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def by_size(many: Any) -> list[Any]:
    """Weights in an order that two bookkeepings agree on: all sizes of one network differ here."""
    return sorted(many, key=lambda one: one.numel())


# --- taken up again


def _regulate(agent: Ddpg, steps: int, begin: int = 0) -> None:
    for step in range(begin, begin + steps):
        x = float(np.sin(step))
        action = agent.explore(number(x))
        assert not isinstance(action, Declined)
        u = float(action[0, 0])
        agent.remember(Transition(number(x), action, -x * x - u * u, u * u, number(x + u), step % 7 == 0))
        agent.update()
        agent.see_violations(u * u)


def _equal(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            _equal(one[key], other[key])
    elif isinstance(one, list):
        for mine, theirs in zip(one, other, strict=True):
            _equal(mine, theirs)
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    else:
        assert one == other


@pytest.mark.parametrize("law", list(Law))
def test_two_hundred_steps_are_a_hundred_and_a_hundred_more(law: Law, tmp_path: Path) -> None:
    chosen = settings(
        noise=NoiseSettings(law), twin=True, actor_every=2, capacity=128, price=Price(limit=0.1, step=0.1), batch=16
    )
    torch.manual_seed(3)
    through = Ddpg(chosen, Line(), Quadratic, stacked)
    torch.manual_seed(3)
    first = Ddpg(chosen, Line(), Quadratic, stacked)
    _regulate(through, 200)
    _regulate(first, 100)
    save(first, tmp_path / "run.pt")
    torch.manual_seed(77)  # what it is made with does not matter: all is taken up
    second = Ddpg(chosen, Line(), Quadratic, stacked)
    load(second, tmp_path / "run.pt")
    _regulate(second, 100, begin=100)
    _equal(state_of(through), state_of(second))
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


def test_on_graphs_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    contexts = [graph_context(level, rng) for level in np.linspace(0, 1, 8).tolist()]

    def run(agent: Ddpg, steps: int) -> None:
        for step in range(steps):
            seen, after = contexts[(step + agent.updates) % 8], contexts[(step + agent.updates + 3) % 8]
            action = agent.explore(seen)
            assert not isinstance(action, Declined)
            agent.remember(Transition(seen, action, float(action.sum()), 0.0, after, False))
            agent.update()

    chosen = settings(batch=8, twin=True, actor_every=2)
    through, first, second = (graph_learner(chosen, small(Form.RESIDUAL)) for _ in range(3))
    run(through, 8)
    run(through, 8)
    run(first, 8)
    save(first, tmp_path / "run.pt")
    load(second, tmp_path / "run.pt")
    run(second, 8)
    _equal(state_of(through), state_of(second))


def test_the_same_seed_learns_the_same_and_another_does_not() -> None:
    gains = []
    for seed in (1, 1, 2):
        torch.manual_seed(0)
        agent = Ddpg(settings(seed=seed), Line(), Quadratic, stacked)
        _regulate(agent, 50)
        gains.append(float(agent.actor.gain.weight.detach()))
    assert gains[0] == gains[1] != gains[2]
