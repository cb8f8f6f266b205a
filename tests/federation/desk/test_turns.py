"""Requests decide one after another, and what is ready meanwhile does not wait for all of them."""

from __future__ import annotations

import asyncio
import threading

import pytest

from federation.desk.turns import Turns


async def test_an_answer_that_is_ready_goes_before_the_next_decision() -> None:
    turns, loop, done = Turns(), asyncio.get_running_loop(), list[str]()
    written: asyncio.Future[None] = loop.create_future()

    async def answer() -> None:
        await written
        done.append("answer")

    def write() -> None:
        """The database's thread: a decision before these is durable while the first of them is taken."""
        loop.call_soon_threadsafe(written.set_result, None)

    async def decide(name: str) -> None:
        async with turns:
            if name == "a":
                thread = threading.Thread(target=write)
                thread.start()
                thread.join()
            done.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(answer())
        for name in "abc":
            group.create_task(decide(name))
    assert done == ["a", "answer", "b", "c"]


async def test_who_finds_nobody_in_it_goes_on_at_once() -> None:
    turns, passes = Turns(), list[int]()
    asyncio.get_running_loop().call_soon(passes.append, 1)
    async with turns:
        assert passes == []


async def test_the_turn_goes_on_where_a_decision_fails_and_past_who_gave_up() -> None:
    turns = Turns()

    async def fail() -> None:
        async with turns:
            raise ZeroDivisionError

    async def wait() -> str:
        async with turns:
            return "decided"

    async with turns:
        gone, there = asyncio.create_task(wait()), asyncio.create_task(wait())
        await asyncio.sleep(0)
        gone.cancel()
    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await there == "decided"
    assert gone.cancelled()
