"""Tests a distributed lock on Redis from Python. With pytest, the tests of a lock are one line:

    test_my_lock = picklock.scenarios(MyLock, profile="quick", reference="set-nx-px")
"""

from ._adapter import Definite, Grant, extended, lost, try_for
from ._engine import (Inconclusive, NotApplicable, PicklockError, PicklockWarning, Result, Violation, __version__, plan,
                      run)
from ._lock import AsyncLock, Lock
from ._proxy import Proxy
from .suite import scenarios

__all__ = ["AsyncLock", "Definite", "Grant", "Inconclusive", "Lock", "NotApplicable", "PicklockError", "PicklockWarning",
           "Proxy", "Result", "Violation", "__version__", "extended", "lost", "plan", "run", "scenarios", "try_for"]
