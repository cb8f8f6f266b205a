"""Which fleet a command means: the options that name kubeconfig files, and what stands in where none is given."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from federation.kubeconfig.source import Places

Command = TypeVar("Command", bound=Callable[..., Any])
_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)


class Seconds(click.FloatRange):
    """A span of time; one that is no number is refused too, which a range alone lets pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Its number."""
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value} is not a number of seconds", param, ctx)
        return seconds


WAIT = Seconds(0, 3600)


def fleet_options(command: Command) -> Command:
    """`--kubeconfig` (several times), `--profiles`, `--providers`, `--in-cluster`."""
    options = [
        click.option(
            "--kubeconfig",
            "kubeconfigs",
            multiple=True,
            type=_FILE,
            help="A kubeconfig; every context in it is a member. Several times for several files, which never merge.",
        ),
        click.option("--profiles", type=_FOLDER, help="Folder of ClusterProfile files, a second source of members."),
        click.option("--providers", type=_FILE, help="How to log in to the profiles' clusters (YAML)."),
        click.option("--in-cluster", is_flag=True, help="This pod's own cluster is a member too."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def places_of(options: dict[str, Any]) -> Places | None:
    """The places that the options name, None where they name none; takes its options out of `options`."""
    files = tuple(options.pop("kubeconfigs"))
    profiles, providers, pod = options.pop("profiles"), options.pop("providers"), options.pop("in_cluster")
    if not (files or profiles or pod):
        return None
    from federation.kubeconfig.source import Places

    return Places(files=files, profiles=profiles, providers=providers, pod=pod)


def usual_places() -> Places:
    """What kubectl would use: KUBECONFIG, whose files merge, else ~/.kube/config."""
    from federation.kubeconfig.source import Places, kubeconfig_paths

    told = os.environ.get("KUBECONFIG", "")
    return Places(merged=kubeconfig_paths(told) or (Path.home() / ".kube" / "config",))
