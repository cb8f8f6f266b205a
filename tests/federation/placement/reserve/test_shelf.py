"""A shelf is a dictionary that is never changed: every older one still says what it said."""

from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.reserve.shelf import Shelf

steps = st.lists(st.tuples(st.integers(0, 300).map(str), st.one_of(st.none(), st.integers())), max_size=60)


@settings(max_examples=80, deadline=None)
@given(steps)
def test_any_sequence_of_changes_is_that_of_a_dictionary(taken: list[tuple[str, int | None]]) -> None:
    shelf: Shelf[int] = Shelf()
    known: dict[str, int] = {}
    past = [(shelf, dict(known))]
    for key, value in taken:
        if value is None:
            shelf = shelf.drop(key)
            known.pop(key, None)
        else:
            shelf = shelf.put(key, value)
            known[key] = value
        past.append((shelf, dict(known)))
    for then, right in past:
        assert dict(then) == right
        assert len(then) == len(right)
        assert all(then.get(key) == right.get(key) for key, _ in taken)


def test_what_is_not_there_can_be_dropped_and_changes_nothing() -> None:
    shelf = Shelf[int]().put("a", 1)
    assert shelf.drop("b") is shelf
    assert "b" not in shelf
    assert shelf.drop("a").get("a", 7) == 7
