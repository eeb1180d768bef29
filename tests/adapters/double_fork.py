"""`double_fork.py PROGRAM...`: starts the program by a double fork, in its own session, and waits for its end. The
program has this process's standard input and output, and another parent."""

import os
import sys

until_it_ends, its_end = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.set_inheritable(its_end, True)
        os.execvp(sys.argv[1], sys.argv[1:])
    os._exit(0)
os.wait()
os.close(its_end)
os.read(until_it_ends, 1)
