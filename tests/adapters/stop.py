"""Stops at an op, as by SIGSTOP, and never answers it: `stop.py OP [WHO]`. WHO is `self` (default) or `child`, for which
the adapter waits."""

import os
import signal
import subprocess
import sys

import polite


def misbehave(request):
    if sys.argv[2:] == ["child"]:
        subprocess.run(["sh", "-c", "kill -STOP $$"])
    else:
        os.kill(os.getpid(), signal.SIGSTOP)


polite.run(misbehave)
