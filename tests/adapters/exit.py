"""Exits at an op: `exit.py OP [HOW]`. HOW is an exit status (default 3), `SIGABRT` (by a signal), `orphan` (with
status 0, leaving a process behind that holds its output open) or `silent` (closes its output and keeps running)."""

import os
import signal
import subprocess
import sys
import time

import polite

HOW = sys.argv[2] if len(sys.argv) > 2 else "3"


def misbehave(request):
    if HOW == "orphan":
        left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print(left.pid, file=sys.stderr, flush=True)
        os._exit(0)
    if HOW == "silent":
        os.close(1)
        time.sleep(60)
    if HOW == "SIGABRT":
        os.kill(os.getpid(), signal.SIGABRT)
    os._exit(int(HOW))


polite.run(misbehave)
