#!/usr/bin/env python3
"""Picklock adapter for the lock of redis-py, `redis.lock.Lock`.

Requests arrive on stdin, answers go to stdout, one JSON object per line. Logs go to stderr. The
protocol is described in docs/protocol.md. Needs only the standard library and redis-py.
"""

import json
import math
import sys
import time
import traceback

import redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import LockError, LockNotOwnedError, ResponseError
from redis.lock import Lock
from redis.retry import Retry

PROTOCOL = 1


class WatchedLock(Lock):
    """The unmodified lock, plus the time at which the command that may have taken it was sent.

    Without that time the adapter could not compute the rest of the lease: `acquire` retries, and
    does not say when the successful attempt began.
    """

    asked_at = None

    def do_acquire(self, token):
        self.asked_at = time.monotonic()
        return super().do_acquire(token)


def seconds(millis):
    """Milliseconds as seconds for redis-py, such that `int(seconds * 1000)` is exact.

    1.001 * 1000 is 1000.9999999999999, but the conversion must not shorten the lease.
    """
    value = millis / 1000
    return value if int(value * 1000) >= millis else math.nextafter(value, math.inf)


class Adapter:
    def __init__(self):
        self.client = None
        self.sleep = 0.1
        self.locks = {}

    def init(self, request):
        if request["protocol"] != PROTOCOL:
            return error(f"only protocol {PROTOCOL} is supported", definite=True)
        options = request.get("options", {})
        unknown = set(options) - {"retries", "sleep_ms"}
        if unknown:
            return error(f"unknown options {sorted(unknown)}", definite=True)
        timeout = request["timeout_ms"] / 1000
        retries = int(options.get("retries", 0))
        self.sleep = int(options.get("sleep_ms", 100)) / 1000
        self.client = redis.Redis.from_url(
            request["nodes"][0],
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(ExponentialWithJitterBackoff(base=0.01, cap=1), retries),
        )
        return {"reply": "ready", "name": "redis-py", "version": redis.__version__}

    def acquire(self, request):
        wait_ms = request["wait_ms"]
        lock = WatchedLock(
            self.client,
            request["key"],
            timeout=seconds(request["ttl_ms"]),
            sleep=self.sleep,
            blocking=wait_ms > 0,
            blocking_timeout=wait_ms / 1000,
            thread_local=False,
        )
        if not lock.acquire():
            return {"reply": "refused"}
        token = lock.local.token.decode()
        self.locks[token] = lock
        return granted(token, request["ttl_ms"], lock.asked_at)

    def extend(self, request):
        lock = self.locks[request["token"]]
        asked_at = time.monotonic()
        try:
            lock.extend(seconds(request["ttl_ms"]), replace_ttl=True)
        except LockNotOwnedError:
            return {"reply": "refused"}
        return granted(request["token"], request["ttl_ms"], asked_at)

    def release(self, request):
        lock = self.locks[request["token"]]
        try:
            lock.release()
        except LockNotOwnedError:
            del self.locks[request["token"]]
            return {"reply": "released", "released": False}
        del self.locks[request["token"]]
        return {"reply": "released", "released": True}

    def ping(self, request):
        return {"reply": "pong"}

    def answer(self, request):
        op = request.get("op")
        handlers = {
            "init": self.init,
            "acquire": self.acquire,
            "extend": self.extend,
            "release": self.release,
            "ping": self.ping,
        }
        if op not in handlers:
            return error(f"unknown op {op!r}", definite=True)
        if self.client is None and op not in ("init", "ping"):
            return error("`init` must come first", definite=True)
        if "token" in request and request["token"] not in self.locks:
            return error(f"no grant has the token {request['token']!r}", definite=True)
        try:
            return handlers[op](request)
        except (ResponseError, LockError) as problem:
            # Redis refused the command, or the library did before it sent anything.
            return error(f"{type(problem).__name__}: {problem}", definite=True)
        except redis.RedisError as problem:
            # ConnectionError, TimeoutError: the command may have been executed.
            return error(f"{type(problem).__name__}: {problem}", definite=False)
        except Exception as problem:
            traceback.print_exc(file=sys.stderr)
            return error(f"{type(problem).__name__}: {problem}", definite=False)


def error(message, definite):
    return {"reply": "error", "message": message, "definite": definite}


def granted(token, ttl_ms, asked_at):
    """`valid_until` becomes `valid_ms` when the line is written."""
    return {"reply": "granted", "token": token, "valid_until": asked_at + ttl_ms / 1000}


def write(answer, read_at):
    if answer.get("reply") == "granted":
        now = time.monotonic()
        left = answer.pop("valid_until") - now
        answer["valid_ms"] = max(0, math.floor(left * 1000))
        answer["elapsed_ms"] = math.floor((now - read_at) * 1000)
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main():
    adapter = Adapter()
    for line in sys.stdin:
        read_at = time.monotonic()
        try:
            request = json.loads(line)
            number = request["id"]
        except (ValueError, KeyError, TypeError):
            print(f"not a request: {line!r}", file=sys.stderr)
            continue
        write({"id": number, **adapter.answer(request)}, read_at)


if __name__ == "__main__":
    main()
