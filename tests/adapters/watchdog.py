"""A correct watchdog lock around redis-py: SET NX PX, renewed by a thread, compare-and-delete.

`watchdog.py [URL]`: with a URL it uses that server instead of the given nodes.
"""

import json
import secrets
import sys
import threading
import time

import redis

RELEASE = """if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0"""
EXTEND = """if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0"""

client = None
stop = None


def renew(key, token, ttl_ms, stopped):
    while not stopped.wait(ttl_ms / 2000):
        client.eval(EXTEND, 1, key, token, ttl_ms)


def acquire(key, ttl_ms, wait_ms):
    global stop
    token = secrets.token_hex(8)
    end = time.monotonic() + wait_ms / 1000
    while True:
        if client.set(key, token, nx=True, px=ttl_ms):
            stop = threading.Event()
            threading.Thread(target=renew, args=(key, token, ttl_ms, stop), daemon=True).start()
            return {"reply": "granted", "token": token}
        if time.monotonic() >= end:
            return {"reply": "refused"}
        time.sleep(0.02)


def answer(request):
    global client
    op = request["op"]
    if op == "ping":
        return {"reply": "pong"}
    if op == "init":
        url = sys.argv[1] if len(sys.argv) > 1 else request["nodes"][0]
        client = redis.Redis.from_url(url, socket_timeout=request["timeout_ms"] / 1000, retry=None)
        return {"reply": "ready", "name": "own-watchdog"}
    if op == "acquire":
        return acquire(request["key"], request["ttl_ms"], request["wait_ms"])
    if op == "release":
        if stop:
            stop.set()
        released = client.eval(RELEASE, 1, request["key"], request["token"])
        return {"reply": "released", "released": released == 1}
    return {"reply": "error", "message": "unknown op", "definite": True}


for line in sys.stdin:
    request = json.loads(line)
    try:
        reply = answer(request)
    except Exception as error:
        reply = {"reply": "error", "message": str(error), "definite": False}
    print(json.dumps({"id": request["id"], **reply}), flush=True)
