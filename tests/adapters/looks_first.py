"""A lock that checks the key before it takes it: GET, and SET NX PX only if the key is missing. Raw RESP.

`looks_first.py [prefix=WORD] [two-steps] [silent]`:
prefix=WORD  its key is WORD followed by the lock's name
two-steps    it takes the key by SETNX, and sets its expiry by PEXPIRE
silent       it does not report whether its release found the lock: `released: null`
"""

import json
import secrets
import socket
import sys
import time
from urllib.parse import urlsplit

RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'

words = sys.argv[1:]
prefix = next((word.removeprefix("prefix=") for word in words if word.startswith("prefix=")), "")
redis = None


class Redis:
    """One connection to the node, opened when it is needed."""

    def __init__(self, url, timeout):
        node = urlsplit(url)
        self.address, self.timeout, self.stream = (node.hostname, node.port), timeout, None

    def ask(self, *words):
        try:
            if self.stream is None:
                connection = socket.create_connection(self.address, self.timeout)
                self.stream = connection.makefile("rwb")
            parts = [str(word).encode() for word in words]
            sent = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
            self.stream.write(b"*%d\r\n%s" % (len(parts), sent))
            self.stream.flush()
            return self.reply()
        except OSError:
            self.stream = None
            raise

    def reply(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the connection is closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else self.stream.read(int(rest) + 2)[:-2].decode()
        return int(rest) if kind == b":" else rest.decode()


def take(key, token, ttl_ms):
    if redis.ask("GET", key) is not None:
        return False
    if "two-steps" not in words:
        return redis.ask("SET", key, token, "NX", "PX", ttl_ms) == "OK"
    if redis.ask("SETNX", key, token) != 1:
        return False
    redis.ask("PEXPIRE", key, ttl_ms)
    return True


def answer(request):
    global redis
    op = request["op"]
    if op == "ping":
        return {"reply": "pong"}
    if op == "init":
        redis = Redis(request["nodes"][0], request["timeout_ms"] / 1000)
        return {"reply": "ready", "name": "looks-first"}
    key = prefix + request["key"]
    if op == "acquire":
        token, end = secrets.token_hex(8), time.monotonic() + request["wait_ms"] / 1000
        while not take(key, token, request["ttl_ms"]):
            if time.monotonic() >= end:
                return {"reply": "refused"}
            time.sleep(0.02)
        return {"reply": "granted", "token": token}
    if op == "extend":
        return {"reply": "unsupported"}
    released = redis.ask("EVAL", RELEASE, 1, key, request["token"]) == 1
    return {"reply": "released", "released": None if "silent" in words else released}


for line in sys.stdin:
    request = json.loads(line)
    try:
        reply = answer(request)
    except Exception as error:
        reply = {"reply": "error", "message": str(error), "definite": False}
    print(json.dumps({"id": request["id"], **reply}), flush=True)
