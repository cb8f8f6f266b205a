"""Who a token is and what that user may do: asked of the cluster, kept for seconds, never guessed."""

from __future__ import annotations

from typing import Any

import pytest

from federation.apply.rights import ACCESS_REVIEWS, READ, TOKEN_REVIEWS, WRITE, Allowed, Reviewer, User
from federation.members.api import RefusedError, UnreachableError

Json = dict[str, Any]
ANN = User("ann", "u1", ("team-shop",), (("scopes", ("a", "b")),))


class Answers:
    """A member that answers reviews."""

    name = "hub"

    def __init__(self, **status: object) -> None:
        self.status: Json = status
        self.asked: list[tuple[str, Json]] = []
        self.error: Exception | None = None

    async def call(self, method: str, path: str, **more: Any) -> Json:
        self.asked.append((f"{method} {path}", more["body"]["spec"]))
        if self.error:
            raise self.error
        return {"status": self.status}

    def stream(self, path: str, **more: Any) -> Any:
        raise AssertionError(f"a review watches nothing, and asked for {path} {more}")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def known(**more: object) -> Json:
    user = {"username": "ann", "uid": "u1", "groups": ["team-shop"], "extra": {"scopes": ["a", "b"]}}
    return {"authenticated": True, "user": user, **more}


async def test_a_token_is_asked_about_once_and_then_remembered_for_a_while() -> None:
    api, clock = Answers(**known()), Clock()
    reviewer = Reviewer(api, clock, ttl_s=10)
    assert await reviewer.user_of("t1") == ANN
    assert await reviewer.user_of("t1") == ANN
    assert api.asked == [(f"POST {TOKEN_REVIEWS}", {"token": "t1"})]
    clock.now += 10
    await reviewer.user_of("t1")
    assert len(api.asked) == 2
    clock.now -= 60  # a clock that was put back makes nothing last longer
    await reviewer.user_of("t1")
    assert len(api.asked) == 3


async def test_a_token_that_nobody_knows_is_remembered_as_such() -> None:
    api = Answers(authenticated=False)
    reviewer = Reviewer(api, Clock())
    assert await reviewer.user_of("bad") is None
    assert await reviewer.user_of("bad") is None
    assert len(api.asked) == 1


@pytest.mark.parametrize("status", [{}, {"authenticated": "true"}, {"authenticated": True}, known(user={"groups": []})])
async def test_an_answer_that_says_less_than_yes_is_a_no(status: Json) -> None:
    assert await Reviewer(Answers(**status), Clock()).user_of("t") is None


async def test_a_token_made_for_others_is_refused() -> None:
    reviewer = Reviewer(Answers(**known(audiences=["other"])), Clock(), audiences=("prewarm",))
    assert await reviewer.user_of("t") is None
    unaware = Reviewer(Answers(**known()), Clock(), audiences=("prewarm",))
    assert await unaware.user_of("t") is None
    right = Answers(**known(audiences=["prewarm"]))
    assert await Reviewer(right, Clock(), audiences=("prewarm",)).user_of("t") == ANN
    assert right.asked[0][1] == {"token": "t", "audiences": ["prewarm"]}


async def test_rights_are_asked_for_a_namespace_and_a_verb_with_all_that_is_known_of_the_user() -> None:
    api = Answers(allowed=True, reason="RBAC: allowed")
    reviewer = Reviewer(api, Clock())
    assert await reviewer.allows(ANN, READ, "shop") == Allowed(True, "RBAC: allowed")
    assert api.asked == [
        (
            f"POST {ACCESS_REVIEWS}",
            {
                "user": "ann",
                "uid": "u1",
                "groups": ["team-shop"],
                "extra": {"scopes": ["a", "b"]},
                "resourceAttributes": {
                    "group": "prewarm.dev",
                    "resource": "placements",
                    "verb": "get",
                    "namespace": "shop",
                },
            },
        )
    ]


async def test_each_user_verb_and_namespace_has_an_answer_of_its_own() -> None:
    api = Answers(allowed=True)
    reviewer = Reviewer(api, Clock())
    for user, verb, space in ((ANN, READ, "a"), (ANN, WRITE, "a"), (ANN, READ, "b"), (User("bob"), READ, "a")) * 2:
        await reviewer.allows(user, verb, space)
    assert len(api.asked) == 4


async def test_all_namespaces_are_asked_for_by_naming_none() -> None:
    api = Answers(allowed=False)
    assert not (await Reviewer(api, Clock()).allows(ANN, WRITE, "")).yes
    assert "namespace" not in api.asked[0][1]["resourceAttributes"]


async def test_a_denial_wins_over_an_allowance() -> None:
    assert not (await Reviewer(Answers(allowed=True, denied=True), Clock()).allows(ANN, READ, "a")).yes


@pytest.mark.parametrize("error", [UnreachableError("hub", "dark"), RefusedError("hub", 403, reason="Forbidden")])
async def test_a_review_that_cannot_be_had_is_an_error_and_is_not_remembered(error: Exception) -> None:
    api = Answers(**known())
    api.error = error
    reviewer = Reviewer(api, Clock())
    for _ in range(2):
        with pytest.raises(type(error)):
            await reviewer.user_of("t")
        with pytest.raises(type(error)):
            await reviewer.allows(ANN, READ, "a")
    api.error = None
    assert await reviewer.user_of("t") == ANN


async def test_many_tokens_do_not_fill_the_memory() -> None:
    api = Answers(**known())
    reviewer = Reviewer(api, Clock(), most=3)
    for number in range(5):
        await reviewer.user_of(f"t{number}")
    await reviewer.user_of("t4")
    assert len(api.asked) == 5
    await reviewer.user_of("t0")
    assert len(api.asked) == 6
