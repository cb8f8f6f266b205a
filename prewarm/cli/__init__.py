"""The command `prewarm`: one file a sub-command, each imported only when it is called.

This is the composition root: parts are wired together here and nowhere else. What prewarm reports becomes one line on
the standard error; the exit status is 0 for done, 1 for something found, 2 for wrong use or bad input.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from prewarm import __version__
from prewarm.domain import PrewarmError

# sub-command -> (module under prewarm.cli, attribute, one line for the list)
_COMMANDS = {
    "serve": ("serve", "serve", "Run the service (a simulated world unless told otherwise)."),
    "replay": ("replay", "replay", "Replay a trace through policies and compare them."),
    "forecast": ("forecast", "forecast", "Forecast the demand in a file."),
    "backtest": ("forecast", "backtest", "Measure forecasters on a file by rolling origin."),
    "fleet": ("fleet", "fleet", "Look at the fleet's clusters, cordon or drain one."),
    "place": ("place", "place", "Place a workload over the fleet, and say why there."),
    "explain": ("explain", "explain", "Say why a decision was taken."),
    "override": ("override", "override", "Pin, bound or pause a function."),
    "config": ("config", "config", "Check a configuration file."),
    "traces": ("traces", "traces", "Describe, make or fetch traces."),
    "train": ("train", "train", "Train the shipped models anew."),
    "evaluate": ("evaluate", "evaluate", "Measure a learned policy against the tuned rule."),
    "bench": ("bench", "bench", "Measure against the published results."),
}


class _LateGroup(click.Group):
    """Imports a sub-command when it is used, so that `prewarm --help` and the service start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        command = getattr(importlib.import_module(f"prewarm.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, told) for name, (_, _, told) in _COMMANDS.items()])


@click.group(
    cls=_LateGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Try: prewarm serve, then open the address that it prints.",
)
@click.version_option(__version__, prog_name="prewarm")
def _prewarm() -> None:
    """Forecast the demand for serverless functions and keep the right number of instances warm."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; never shows a traceback for what prewarm itself reports."""
    try:
        status = _prewarm.main(args=arguments, prog_name="prewarm", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except PrewarmError as error:
        click.echo(f"prewarm: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of a pipe went away (prewarm ... | head); nobody is left to be told.
        sys.stderr.close()
        sys.exit(0)
    sys.exit(status if isinstance(status, int) else 0)
