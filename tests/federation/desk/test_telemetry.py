"""What an operator can alert on: members that do not answer, data that grows old, workloads that lack room."""

from __future__ import annotations

from pathlib import Path

from federation.desk.mind import Minder
from federation.desk.telemetry import DeskMetrics, FleetCollector
from tests.federation.desk.ground import Ground, Standing, form, manifest, standing
from tests.federation.desk.test_mind import turn


def watched(at: Standing) -> None:
    """As the service does it."""
    registry = at.service.fleet.metrics.registry
    at.desk.metrics = DeskMetrics(registry)
    registry.register(FleetCollector(at.desk, lambda: {"place": 3}))


def sample(at: Standing, name: str, **labels: str) -> float | None:
    return at.service.fleet.metrics.registry.get_sample_value(f"prewarm_{name}", labels)


async def test_a_member_that_goes_dark_shows_and_its_data_grow_old(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        watched(at)
        assert sample(at, "cluster_state", cluster="us", state="ready") == 1.0
        ground.darken("us")
        ground.clock.time += 40.0
        assert sample(at, "cluster_state", cluster="us", state="ready") == 0.0
        assert sample(at, "cluster_state", cluster="us", state="dark") == 1.0
        assert sample(at, "cluster_data_age_seconds", cluster="us", datum="pods") == 40.0
        assert sample(at, "cluster_data_age_seconds", cluster="eu", datum="pods") == 0.0


async def test_what_was_never_seen_has_no_age(tmp_path: Path, ground: Ground) -> None:
    ground.unseen = True
    async with standing(tmp_path, ground) as at:
        watched(at)
        assert sample(at, "cluster_data_age_seconds", cluster="eu", datum="pods") is None
        assert sample(at, "cluster_resources", cluster="eu", resource="cpu", amount="allocatable") is None
        assert sample(at, "cluster_instances", **{"cluster": "eu", "as": "existing"}) is None


async def test_how_long_starts_take_has_a_sample_where_they_were_measured(tmp_path: Path, ground: Ground) -> None:
    ground.start_s = {"eu": 4.5}
    async with standing(tmp_path, ground) as at:
        watched(at)
        assert sample(at, "cluster_start_seconds", cluster="eu") == 4.5
        assert sample(at, "cluster_start_seconds", cluster="us") is None


async def test_room_instances_and_decisions_are_counted(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        watched(at)
        await at.place(manifest(replicas=24))
        await at.place(form("shop/more", replicas=10), dry_run=True)
        await at.place(form("shop/none", replicas=1, requests={"cpu": "99", "memory": "1Mi"}), dry_run=True)
        counts = ground.replicas()
        for name, cores in (("eu", 10), ("us", 20)):
            assert sample(at, "cluster_resources", cluster=name, resource="cpu", amount="allocatable") == cores
            assert sample(at, "cluster_resources", cluster=name, resource="cpu", amount="requested") == counts[name]
            assert sample(at, "cluster_instances", **{"cluster": name, "as": "ready"}) == counts[name]
        for result in ("all", "part", "nothing"):
            assert sample(at, "placements_total", result=result) == 1.0
        assert sample(at, "placement_seconds_count") == 3.0


async def test_a_workload_that_is_not_as_wanted_is_counted_and_says_why(tmp_path: Path, ground: Ground) -> None:
    async with standing(tmp_path, ground) as at:
        watched(at)
        await at.place(manifest(replicas=24))
        assert sample(at, "placed_workloads", **{"as": "wanted"}) == 1.0
        minder = Minder(at.desk)
        ground.darken("us")
        for _ in range(2):
            await turn(minder, ground, after_s=100.0)
        assert sample(at, "placed_workloads", **{"as": "not_wanted"}) == 1.0
        (row,) = (await at.call("GET", "/v1/placements"))["placements"]
        assert row["trouble"] == "14 of 24 fit nowhere"
        assert sample(at, "fleet_accidents", part="place") == 3.0
