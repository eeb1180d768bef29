"""`daemon.py PROGRAM...`: a client of a daemon. The program is started as a daemon: it has its own session and another
parent, and it communicates over a socket. This process only forwards lines.

With `daemon.py --hidden PROGRAM...` the daemon has an empty environment as well, so that nothing reveals which process
started it."""

import os
import socket
import sys
import threading

hidden = sys.argv[1] == "--hidden"
program = sys.argv[2 if hidden else 1 :]
ours, its = socket.socketpair()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.dup2(its.fileno(), 0)
        os.dup2(its.fileno(), 1)
        os.execvpe(program[0], program, {} if hidden else os.environ)
    os._exit(0)
os.wait()
its.close()


def answers():
    for line in ours.makefile("rb"):
        os.write(1, line)
    os._exit(0)


threading.Thread(target=answers, daemon=True).start()
for line in sys.stdin.buffer:
    ours.sendall(line)
