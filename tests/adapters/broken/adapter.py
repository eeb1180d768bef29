"""A correct lock (SET NX PX, compare and delete, renewal on demand) whose adapter breaks the protocol
in one way: `adapter.py MODE [ARGUMENT]`. Without a mode it breaks nothing. Standard library only.

`FAULTS` lists the modes and their effects.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

FAULTS = {
    "correct": "nothing is wrong",
    "banner": "says hello on its standard output",
    "log-line": "logs its grants to its standard output",
    "list": "answers with a list",
    "no-kind": "answers without `reply`",
    "unknown-reply": "answers `ok`",
    "no-id": "answers without `id`",
    "text-id": "answers with `id` as a string",
    "small-id": "keeps the id in 32 bits",
    "own-id": "counts its answers itself, from 100",
    "twice": "answers `ping` twice",
    "wrong-answer": "answers `release` with `pong`",
    "no-token": "grants without `token`",
    "number-token": "grants with a number as `token`",
    "float-valid": "grants with a `valid_ms` of 998.5",
    "long-valid": "grants with a `valid_ms` of a minute",
    "long-elapsed": "grants with an `elapsed_ms` of an hour",
    "no-released": "leaves `released` out",
    "text-released": "answers `released` with \"yes\"",
    "no-definite": "answers an error without `definite`",
    "silent": "never answers `acquire`",
    "half-line": "does not end its lines",
    "exits": "exits at `acquire`",
    "exits-at-once": "exits before it reads anything",
    "no-ping": "does not know `ping`",
    "seconds": "takes `ttl_ms` for seconds",
    "short-lease": "gives the key half of the lease",
    "always-grants": "grants without looking",
    "error-refusal": "answers `error` where the lock is taken",
    "waits-for-ever": "ignores `wait_ms`",
    "one-key": "uses one key for all locks",
    "no-server": "grants from its own memory",
    "other-server": "is connected to the port ARGUMENT, too",
    "wrong-server": "uses a port where nobody listens",
    "keeps-key": "answers `released`, and keeps the key",
    "false-release": "releases, and says that it did not hold the lock",
    "boasts": "answers every release with true",
    "extends-nothing": "answers `extend` with `granted`, and extends nothing",
    "refuses-extension": "answers every `extend` with `refused`",
    "same-fence": "gives all grants one fence",
    "stranger-lost": "writes `lost` for a token that nobody has",
    "false-lost": "writes `lost` for what it holds",
    "strict": "refuses unknown fields",
    "yes-man": "answers an unknown `op` with `pong`",
    "echo": "answers a line that is not a request with a line that is not a message",
    "sure": "says `definite` = true when the server does not answer",
    "patient": "ignores `timeout_ms`",
    "stays": "does not exit when its input ends, nor at SIGTERM",
    "ignores-sigterm": "does not end at SIGTERM",
    "frees-at-sigterm": "deletes the requested lock at SIGTERM, whoever holds it",
    "status": "exits with status 3",
    "orphan": "leaves a process behind",
    "one-by-one": "serves its clients one after the other",
    "no-join": "offers clients, and does not know `join`",
    "deaf": "offers to be cancelled, and is not",
    "short-block": "answers `block` at once",
    "cannot-block": "offers to be blocked, and cannot",
    "keeps-failed": "answers `section-failed` with true, and keeps the key",
    "not-reentrant": "says that it is re-entrant, and refuses its holder",
    "inner-frees": "is re-entrant, and frees the lock at the inner release",
    "long-permit": "says that it is a semaphore, and gives its only permit a lease of a minute",
}

# Features that the modes of version 2 declare.
OFFERS = {
    "one-by-one": "clients",
    "no-join": "clients",
    "deaf": "cancels",
    "short-block": "blocks_loop",
    "cannot-block": "blocks_loop",
    "keeps-failed": "fails_sections",
    "not-reentrant": "reentrant",
    "inner-frees": "reentrant",
}

RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0'
EXTEND = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0'

mode = sys.argv[1] if len(sys.argv) > 1 else "correct"
if mode not in FAULTS:
    sys.exit(f"unknown mode {mode}; there are: {', '.join(FAULTS)}")
redis = None
mine = set()
answered = 100
kept_open = []


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


def say(text):
    sys.stdout.write(text if mode == "half-line" else text + "\n")
    sys.stdout.flush()


def say_event(event, token):
    say(json.dumps({"event": event, "token": token}))


def take(key, token, ttl_ms):
    if mode == "always-grants":
        redis.ask("SET", key, token, "PX", ttl_ms)
        return True
    if mode == "no-server":
        free = key not in mine
        mine.add(key)
        return free
    if mode == "seconds":
        return redis.ask("SET", key, token, "NX", "EX", ttl_ms) == "OK"
    if mode == "long-permit":
        ttl_ms = 60_000
    if mode == "short-lease":
        ttl_ms //= 2
    return redis.ask("SET", key, token, "NX", "PX", ttl_ms) == "OK"


def acquire(key, ttl_ms, wait_ms):
    if mode == "inner-frees" and redis.ask("GET", key) in mine:
        return {"reply": "granted", "token": redis.ask("GET", key)}
    begun, token = time.monotonic(), secrets.token_hex(8)
    if mode == "frees-at-sigterm":
        signal.signal(signal.SIGTERM, lambda *_: (redis.ask("DEL", key), os._exit(143)))
    if mode == "exits":
        print("Traceback: no module named lock", file=sys.stderr, flush=True)
        os._exit(3)
    # On a busy machine the check might wait longer than `wait_ms` and receive the answer, so do not answer at all.
    for_ever = mode == "waits-for-ever" or mode == "deaf" and wait_ms > 1_000
    while not take(key, token, ttl_ms):
        if not for_ever and time.monotonic() >= begun + wait_ms / 1000:
            if mode == "error-refusal":
                return {"reply": "error", "message": "lock is taken", "definite": True}
            return {"reply": "refused"}
        time.sleep(0.02)
    mine.add(token)
    if mode == "log-line":
        say(f"INFO got the lock {key}")
    elapsed = int((time.monotonic() - begun) * 1000)
    grant = {"reply": "granted", "token": token, "valid_ms": max(0, ttl_ms - elapsed - 1), "elapsed_ms": elapsed}
    grant["fence"] = 7 if mode == "same-fence" else redis.ask("INCR", "fence") if mode != "no-server" else 1
    if mode == "no-token":
        del grant["token"]
    if mode == "number-token":
        grant["token"] = 4711
    if mode == "float-valid":
        grant["valid_ms"] = 998.5
    if mode == "long-valid":
        grant["valid_ms"] = 60_000
    if mode == "long-elapsed":
        grant["elapsed_ms"] = 3_600_000
    if mode == "stranger-lost":
        say_event("lost", "nobody's")
    return grant


def extend(key, token, ttl_ms):
    if mode == "extends-nothing":
        return {"reply": "granted", "token": token}
    if mode == "refuses-extension" or redis.ask("EVAL", EXTEND, 1, key, token, ttl_ms) != 1:
        return {"reply": "refused"}
    return {"reply": "granted", "token": token}


def release(key, token):
    if mode == "false-lost":
        say_event("lost", token)
    if mode == "wrong-answer":
        return {"reply": "pong"}
    if mode == "keeps-key":
        return {"reply": "released", "released": True}
    if mode == "no-server":
        held = key in mine
        mine.discard(key)
        return {"reply": "released", "released": held}
    released = redis.ask("EVAL", RELEASE, 1, key, token) == 1
    if mode == "no-released":
        return {"reply": "released"}
    if mode == "text-released":
        return {"reply": "released", "released": "yes"}
    if mode == "false-release":
        released = False
    return {"reply": "released", "released": True if mode == "boasts" else released}


def init(request):
    global redis
    url = "redis://127.0.0.1:1" if mode == "wrong-server" else request["nodes"][0]
    redis = Redis(url, 60 if mode == "patient" else request["timeout_ms"] / 1000)
    if mode == "other-server":
        kept_open.append(socket.create_connection(("127.0.0.1", int(sys.argv[2]))))
    if mode == "banner":
        say("Connected to Redis!")
    if mode == "orphan":
        idle = [sys.executable, "-c", "import time; time.sleep(60)"]
        subprocess.Popen(idle, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    ready = {"reply": "ready", "name": "broken", "version": mode}
    if mode == "long-permit":
        ready.update(protocol=2, kinds=["semaphore"])
    return {**ready, "protocol": 2, OFFERS[mode]: True} if mode in OFFERS else ready


def answer(request):
    op = request["op"]
    if mode == "strict" and set(request) - {"id", "op"} and op == "ping":
        return {"reply": "error", "message": "unknown field", "definite": True}
    if op == "ping" and mode == "no-ping":
        return {"reply": "error", "message": "unknown op ping", "definite": True}
    if op == "ping":
        return {"reply": "pong"}
    if op == "init":
        return init(request)
    key = "the-lock" if mode == "one-key" else request.get("key")
    if op == "acquire":
        return acquire(key, request["ttl_ms"], request["wait_ms"])
    if op == "extend":
        return extend(key, request["token"], request["ttl_ms"])
    if op == "release":
        return release(key, request["token"])
    if op == "join" and mode == "one-by-one":
        return {"reply": "joined"}
    if op == "block" and mode == "short-block":
        return {"reply": "blocked"}
    if op == "section-failed" and mode == "keeps-failed":
        return {"reply": "released", "released": True}
    if mode == "yes-man":
        return {"reply": "pong"}
    return {"reply": "error", "message": f"unknown op {op}", "definite": True}


def write(request, reply):
    global answered
    answered += 1
    message = {"id": request["id"], **reply}
    if mode == "list":
        message = [message]
    elif mode == "no-kind":
        del message["reply"]
    elif mode == "unknown-reply":
        message["reply"] = "ok"
    elif mode == "no-id":
        del message["id"]
    elif mode == "text-id":
        message["id"] = str(message["id"])
    elif mode == "small-id":
        message["id"] %= 1 << 32
    elif mode == "own-id":
        message["id"] = answered
    say(json.dumps(message))
    if mode == "twice" and request["op"] == "ping":
        say(json.dumps(message))


def serve():
    for line in sys.stdin:
        try:
            request = json.loads(line)
        except ValueError:
            print(f"not a request: {line!r}", file=sys.stderr, flush=True)
            if mode == "echo":
                say("what do you mean?")
            continue
        if mode == "silent" and request["op"] == "acquire" or request["op"] == "cancel":
            continue
        try:
            reply = answer(request)
        except Exception as error:
            reply = {"reply": "error", "message": str(error), "definite": mode == "sure"}
            if mode == "no-definite":
                del reply["definite"]
        if mode == "no-definite" and reply["reply"] == "error":
            reply.pop("definite", None)
        write(request, reply)


if mode == "ignores-sigterm":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if mode == "exits-at-once":
    sys.exit("no module named lock")
serve()
if mode == "stays":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Event().wait(60)
if mode == "status":
    sys.exit(3)
