"""The daemon: builds everything below from a configuration, and sees it through.

sources   which devices are read, and with which claims
ledger    the state directory and its keys; what an operator does while the daemon is stopped
alarms    what devices sent when their health tests fired
capture   raw samples into a file, while it is stopped
process   start, watch, stop
"""

from entropyd.daemon.alarms import show_alarms
from entropyd.daemon.capture import capture_samples
from entropyd.daemon.ledger import reset_source
from entropyd.daemon.process import run
from entropyd.daemon.sources import plan_sources

__all__ = ["capture_samples", "plan_sources", "reset_source", "run", "show_alarms"]
