"""In-memory counts per function: minutes now, coarser with age, and "unknown" never read as zero.

`History` is what the service and the simulator write counts into and forecasters read from; the store brings it back
after a restart. Needs numpy only.
"""

from prewarm.history.batch import MinuteBatch
from prewarm.history.counts import DATA_STATES, NEVER, History
from prewarm.history.retention import Retention
from prewarm.history.segment import Segment, hour_segment
from prewarm.history.view import HitView

__all__ = ["DATA_STATES", "NEVER", "History", "HitView", "MinuteBatch", "Retention", "Segment", "hour_segment"]
