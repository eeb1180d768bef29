"""A correct lock (SET NX PX, compare and delete, compare and prolong) with one peculiarity:
`peculiar.py NAME`. Raw RESP, standard library only. Some of these locks are honest, the others are not.

It omits the optional field `elapsed_ms` unless stated otherwise.
"""

import hashlib
import json
import os
import secrets
import socket
import sys
import threading
import time
from urllib.parse import urlsplit

HONEST = {
    "correct": "has no peculiarity",
    "takeover-by-removal": "writes when it will be over, by the server's clock, and no expiry; what is over is "
    "removed by compare and delete, and taken anew",
    "hashed-key": "its key is the SHA-1 of the lock's name",
    "void-release": "its unlock returns nothing: `released: null`",
    "no-extend": "does not offer `extend`",
}
WRONG = {
    "late-second-delete": "sends a plain DEL 30 ms after a release that succeeded",
    "getex-waiter": "who looks whether the lock is free gives its key a new life (GETEX PX)",
    "blind-renewal": "renews by PEXPIRE, whosever value it is, until it is told to release",
    "refused-but-won": "takes the lock after its wait is over, and answers `refused`",
    "encoded-release": "writes the token in quotes, and compares it without them when it releases",
    "encoded-extension": "writes the token in quotes, and compares it without them when it extends",
    "split-key": "each process makes a key of its own of the lock's name",
    "told-past": "answers that it took a minute (`elapsed_ms`), whatever it took",
    "throws-when-taken": "raises an exception if the lock is taken, instead of waiting or refusing",
    "throws-always": "raises an exception at each acquisition",
    "throws-at-release": "raises an exception after a release that succeeded",
    "denied-release": "releases, and answers that the lock was no longer its own",
}

RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'
EXTEND = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0'

name = sys.argv[1] if len(sys.argv) > 1 else "correct"
if name not in HONEST | WRONG:
    sys.exit(f"unknown lock {name}; there are: {', '.join(HONEST | WRONG)}")
redis = None
values = {}
renewals = {}


class Redis:
    """One connection to the node for all threads, opened when it is needed."""

    def __init__(self, url, timeout):
        node = urlsplit(url)
        self.address, self.timeout, self.stream = (node.hostname, node.port), timeout, None
        self.turn = threading.Lock()

    def ask(self, *words):
        parts = [str(word).encode() for word in words]
        sent = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        with self.turn:
            try:
                if self.stream is None:
                    self.stream = socket.create_connection(self.address, self.timeout).makefile("rwb")
                self.stream.write(b"*%d\r\n%s" % (len(parts), sent))
                self.stream.flush()
                return self.reply()
            except OSError:
                # A late reply must not be mistaken for the next one.
                self.stream = None
                raise

    def reply(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the connection is closed")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise RuntimeError(rest)
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == "-1" else self.stream.read(int(rest) + 2)[:-2].decode()
        return int(rest) if kind == b":" else rest


def key_of(lock):
    if name == "hashed-key":
        return hashlib.sha1(lock.encode()).hexdigest()
    return f"{lock}:{os.getpid()}" if name == "split-key" else lock


def server_ms():
    seconds, micros = redis.ask("TIME")
    return int(seconds) * 1000 + int(micros) // 1000


def take_over(key, token, ttl_ms):
    """Takes the lock, which has no expiry, if it is free or the time in its value has passed."""
    found = redis.ask("GET", key)
    if found is not None:
        if int(found.split(":")[0]) > server_ms():
            return False
        redis.ask("EVAL", RELEASE, 1, key, found)
    values[token] = f"{server_ms() + ttl_ms}:{token}"
    return redis.ask("SET", key, values[token], "NX") == "OK"


def take(key, token, ttl_ms):
    if name == "takeover-by-removal":
        return take_over(key, token, ttl_ms)
    if name == "getex-waiter" and redis.ask("GETEX", key, "PX", ttl_ms) is not None:
        return False
    value = f'"{token}"' if name in ("encoded-release", "encoded-extension") else token
    if name == "encoded-extension":
        values[token] = value
    return redis.ask("SET", key, value, "NX", "PX", ttl_ms) == "OK"


def left_ms(ttl_ms, asked):
    return max(0, int(ttl_ms - (time.monotonic() - asked) * 1000) - 1)


def acquire(key, ttl_ms, wait_ms):
    if name == "throws-always":
        raise KeyError("no such setting")
    token, end = secrets.token_hex(8), time.monotonic() + wait_ms / 1000
    asked = time.monotonic()
    while not take(key, token, ttl_ms):
        if name == "throws-when-taken":
            raise AttributeError("'NoneType' object has no attribute 'decode'")
        if time.monotonic() >= end:
            return {"reply": "refused"}
        time.sleep(0.02)
        asked = time.monotonic()
    if name == "refused-but-won" and time.monotonic() > end:
        return {"reply": "refused"}
    if name == "blind-renewal":
        renewals[token] = threading.Event()
        threading.Thread(target=renew, args=(key, ttl_ms, renewals[token]), daemon=True).start()
    grant = {"reply": "granted", "token": token, "valid_ms": left_ms(ttl_ms, asked)}
    if name == "told-past":
        grant["elapsed_ms"] = 60_000
    return grant


def renew(key, ttl_ms, told_to_release):
    while not told_to_release.wait(ttl_ms / 3000):
        try:
            redis.ask("PEXPIRE", key, ttl_ms)
        except (OSError, RuntimeError):
            pass


def release(key, token):
    if token in renewals:
        renewals.pop(token).set()
    released = redis.ask("EVAL", RELEASE, 1, key, values.pop(token, token)) == 1
    if name == "late-second-delete" and released:
        threading.Timer(0.03, lambda: redis.ask("DEL", key)).start()
    if name == "throws-at-release":
        raise TypeError("expected bool, got int")
    if name == "denied-release":
        released = False
    return {"reply": "released", "released": None if name == "void-release" else released}


def extend(key, token, ttl_ms):
    if name in ("no-extend", "takeover-by-removal"):
        return {"reply": "unsupported"}
    asked = time.monotonic()
    if redis.ask("EVAL", EXTEND, 1, key, token, ttl_ms) != 1:
        return {"reply": "refused"}
    return {"reply": "granted", "token": token, "valid_ms": left_ms(ttl_ms, asked)}


def answer(request):
    global redis
    op = request["op"]
    if op == "ping":
        return {"reply": "pong"}
    if op == "init":
        redis = Redis(request["nodes"][0], request["timeout_ms"] / 1000)
        return {"reply": "ready", "name": name}
    key = key_of(request["key"])
    if op == "acquire":
        return acquire(key, request["ttl_ms"], request["wait_ms"])
    if op == "release":
        return release(key, request["token"])
    return extend(key, request["token"], request["ttl_ms"])


for line in sys.stdin:
    request = json.loads(line)
    try:
        reply = answer(request)
    except Exception as problem:
        reply = {"reply": "error", "message": str(problem), "definite": False}
    print(json.dumps({"id": request["id"], **reply}), flush=True)
