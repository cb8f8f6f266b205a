"""A move is surge, then drain: no instance goes before a ready one stands in its place."""

from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.safety.steps import Step, next_step
from federation.snapshot import Running


def running(**clusters: tuple[int, int]) -> dict[str, Running]:
    """(wanted, ready) by cluster."""
    return {name: Running(wanted, wanted, ready) for name, (wanted, ready) in clusters.items()}


def test_first_the_new_ones_come() -> None:
    step = next_step({"b": 3}, running(a=(3, 3)))
    assert step == Step({"a": 3, "b": 3}, "3 in a until 3 more are ready")


def test_old_ones_go_one_for_one_as_new_ones_get_ready() -> None:
    assert next_step({"b": 3}, running(a=(3, 3), b=(3, 1))).wanted == {"a": 2, "b": 3}
    assert next_step({"b": 3}, running(a=(2, 2), b=(3, 3))) == Step({"a": 0, "b": 3}, None)


def test_growth_needs_no_waiting_and_a_plain_cut_none_either() -> None:
    assert next_step({"a": 5}, running(a=(2, 2))) == Step({"a": 5}, None)
    assert next_step({"a": 2}, running(a=(5, 5))) == Step({"a": 2}, None)
    assert next_step({}, running(a=(2, 2))) == Step({"a": 0}, None)


def test_a_target_that_never_gets_ready_keeps_the_old_ones() -> None:
    assert next_step({"b": 2}, running(a=(2, 2), b=(2, 0))).wanted == {"a": 2, "b": 2}


def test_never_below_the_ready_minimum() -> None:
    step = next_step({"b": 1}, running(a=(4, 4), b=(1, 1)), ready_minimum=3)
    assert step.wanted == {"a": 2, "b": 1}


def test_what_we_cannot_see_well_is_not_cut() -> None:
    step = next_step({"b": 2}, running(a=(4, 4), b=(2, 2)), unsure=frozenset({"a"}))
    assert step.wanted == {"a": 4, "b": 2}


names = st.sampled_from(["a", "b", "c"])


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(names, st.integers(0, 6)),
    st.dictionaries(names, st.integers(0, 6)),
    st.integers(0, 4),
    st.randoms(),
)
def test_step_by_step_it_arrives_and_ready_ones_never_fall_below_the_smaller_of_both(
    target: dict[str, int], start: dict[str, int], minimum: int, chance: object
) -> None:
    wanted, ready = dict(start), dict(start)
    floor = min(sum(target.values()), sum(start.values()))
    for _ in range(60):
        seen = {name: Running(wanted[name], wanted[name], ready[name]) for name in wanted}
        step = next_step(target, seen, ready_minimum=min(minimum, sum(target.values())))
        for name, count in step.wanted.items():
            wanted[name] = count
            ready[name] = min(ready.get(name, 0), count)
        assert sum(ready.values()) >= floor
        late = [name for name in wanted if ready[name] < wanted[name]]
        if late:
            ready[sorted(late)[chance.randrange(len(late))]] += 1  # type: ignore[attr-defined]
    assert {name: count for name, count in wanted.items() if count} == {n: c for n, c in target.items() if c}
