"""What the fleet keeps in the database, read back by a service that has started anew."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from federation.desk.records import Placed
from federation.placement.terms import Home
from federation.snapshot import frozen
from prewarm.domain import InputError
from prewarm.store.people import Stamp
from tests.federation.desk.ground import Ground, form, manifest, standing

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "shop"}, "data": {"k": "djE="}}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}, "data": {"a": "b"}}


def written(folder: Path) -> bytes:
    """Everything that the database holds."""
    return b"".join(path.read_bytes() for path in folder.glob("prewarm.db*"))


async def test_a_kept_workload_comes_back_without_its_secrets(tmp_path: Path, ground: Ground) -> None:
    one = Placed("shop/checkout", manifest(), 12.5, "D1", (CONFIG, SECRET), with_dependencies=True)
    async with standing(tmp_path, ground) as at:
        await at.desk.records.keep_placed(one, "me")
    async with standing(tmp_path, ground) as at:
        kept = at.desk.placed["shop/checkout"]
        assert kept == Placed("shop/checkout", manifest(), 12.5, "D1", (CONFIG,), with_dependencies=True)
        assert kept.manifest.workload.replicas == 4
        assert await at.desk.records.forget_placed("shop/checkout", Stamp("me", 13.0))
        assert not await at.desk.records.forget_placed("shop/checkout", Stamp("me", 13.0))
    assert b"djE=" not in written(tmp_path)


def test_a_kept_form_is_read_again_and_a_faulty_one_named() -> None:
    kept = Placed("shop/a", form("shop/a", 2), 1.0, "D1").manifest
    assert (kept.workload.replicas, kept.body) == (2, None)
    with pytest.raises(InputError, match="kept workload shop/a"):
        _ = Placed("shop/a", {"key": "shop/a", "replicas": "two"}, 1.0, "D1").manifest


async def test_memory_of_the_placer_is_empty_at_first_and_exact_afterwards(tmp_path: Path, ground: Ground) -> None:
    homes = {"shop/checkout": Home(frozen({"eu": 3, "us": 1}), 17.25)}
    moves = ((1_000.5, 3), (1_001.0, 2))
    async with standing(tmp_path, ground) as at:
        assert await at.desk.records.memory() == ({}, ())
        await at.desk.records.keep_memory(homes, moves, 20.0)
        found, moved = await at.desk.records.memory()
        assert dict(found["shop/checkout"].shares) == {"eu": 3, "us": 1}
        assert (found["shop/checkout"].since, moved) == (17.25, moves)


async def test_work_that_does_not_end_does_not_hold_up_the_stop(
    tmp_path: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("federation.desk.desk._GRACE_S", 0.05)
    async with standing(tmp_path, ground) as at:
        task = asyncio.ensure_future(asyncio.sleep(3600))
        at.desk.keep_task(task)
        await at.desk.close()
        assert task.cancelled()


async def test_a_task_that_failed_is_told_in_the_log(
    tmp_path: Path, ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        raise RuntimeError("broken")

    async with standing(tmp_path, ground) as at:
        at.desk.keep_task(asyncio.ensure_future(fail()))
        await asyncio.sleep(0)
        await at.desk.close()
    assert "was not carried out to its end" in caplog.text
