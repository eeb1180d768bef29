"""A well-behaved adapter without any lock, on which the misbehaving ones are based.

`run(misbehave)` answers every request correctly, except that it calls `misbehave` for the op named on the command line
(`garbage.py acquire`).
"""

import json
import socket
import sys
from urllib.parse import urlsplit


def greet(nodes):
    """Sends a command to the first node, because a lock that grants without any makes the run inconclusive."""
    for url in nodes[:1]:
        node = urlsplit(url)
        with socket.create_connection((node.hostname, node.port)) as connection:
            connection.sendall(b"PING\r\n")
            connection.recv(64)


def answer(request):
    op = request["op"]
    if op == "init":
        greet(request["nodes"])
        return {"reply": "ready", "name": "polite", "version": "1"}
    if op in ("acquire", "extend"):
        return {"reply": "granted", "token": request.get("token", f"grant-{request['id']}")}
    if op == "release":
        return {"reply": "released", "released": True}
    return {"reply": "pong"}


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def run(misbehave=None):
    at = sys.argv[1] if len(sys.argv) > 1 else None
    for line in sys.stdin:
        request = json.loads(line)
        if misbehave is not None and request["op"] == at:
            misbehave(request)
        else:
            say(json.dumps({"id": request["id"], **answer(request)}))


if __name__ == "__main__":
    run()
