"""`prewarm serve`: the service, on a simulated world unless it is told of real sources."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path
from typing import Any

import click

from prewarm.cli.kubeconfigs import fleet_options, places_of
from prewarm.domain import InputError
from prewarm.settings import Settings
from prewarm.settings_file import read_settings


@click.command(
    epilog="Examples: prewarm serve;  prewarm serve --speed 600 --seed 3;  "
    "prewarm serve --kubeconfig fleet.yaml --config prewarm.toml;  "
    "PREWARM_WRITE_TOKEN=... prewarm serve --no-world --listen 0.0.0.0:8808 --config prewarm.toml"
)
@click.option("--listen", metavar="HOST:PORT", help="Where to listen [default: 127.0.0.1:8808]; port 0 takes any.")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="TOML file; SIGHUP reads it again.")
@fleet_options
@click.option("--database", help="SQLite file or postgresql:// address [default: state/prewarm.db].")
@click.option(
    "--world/--no-world", default=None, help="A simulated fleet [default without --kubeconfig], or only what is pushed."
)
@click.option("--speed", default=60.0, show_default=True, type=click.FloatRange(1, 3600), help="Its seconds a second.")
@click.option("--seed", default=7, show_default=True, type=click.IntRange(0, 2**31), help="Seed of the world.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON when ready.")
def serve(config: Path | None, **options: Any) -> int:
    """Run the service and print the page's address when it is ready. Stops in order on Ctrl-C or SIGTERM."""
    places = places_of(options)
    if places is not None and options["world"]:
        raise InputError("--world: cannot go with a real fleet; leave out one of the two")
    if options["world"] is None:
        options["world"] = places is None
    if not math.isfinite(options["speed"]):
        raise InputError(f"--speed: must be a number from 1 to 3600, is {options['speed']}")
    # Arrays here are small; threads of the linear algebra library would only cost memory and start-up time.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from prewarm.cli.serving import Plan, run_service

    def read() -> Settings:
        return _told(read_settings(config, os.environ), options["listen"], options["database"])

    mode_chosen = config is not None or "PREWARM_SERVE__MODE" in os.environ
    told = {name: options[name] for name in ("world", "speed", "seed", "as_json")}
    run_service(Plan(read, mode_chosen=mode_chosen, places=places, **told))
    return 0


def _told(settings: Settings, listen: str | None, database: str | None) -> Settings:
    """The command line wins over file and environment."""
    serve = settings.serve
    told = dataclasses.replace(serve, listen=listen or serve.listen, database=database or serve.database)
    return dataclasses.replace(settings, serve=told)
