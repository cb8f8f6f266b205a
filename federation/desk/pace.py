"""Settings of the interpreter by which decisions on the event loop stay short beside threads of the same process.

A loop gives the interpreter away whenever it looks for events or writes, and gets it back from a thread that computes
(the forecast mix, the writer) only after the switch interval: 5 ms by default, more than a decision takes, several
times a request. A full garbage collection walks everything that was ever loaded: some 80 ms for a service that holds a
large fleet, in the middle of somebody's request.
"""

from __future__ import annotations

import gc
import sys

SWITCH_S = 0.000_5
"""A thread that computes gives the interpreter back after so long, where somebody waits."""


def keep_pace() -> None:
    """Call once when everything is loaded: threads give way sooner, and what is there by now is never walked again.

    What is frozen is still freed when its last reference goes; only cycles among it are kept.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.freeze()
