#!/usr/bin/env python3
"""Picklock adapter for your leader election. The example takes a key on the first node with SET NX PX, counts the epochs
next to it, renews the key in a thread, and checks whose key it is before each act."""

import secrets
import threading
import time

from picklock_adapter import Grant, extended, lost, serve, try_for
from resp_client import RespClient

LEAD = """
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return redis.call('INCR', KEYS[2])"""

IF_MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return "


class MyLeader:
    def __init__(self, nodes, timeout_ms, options):
        self.redis = RespClient(nodes[0], timeout_ms)
        self.terms = {}

    def acquire(self, key, ttl_ms, wait_ms):
        token = secrets.token_hex(20)

        def lead():
            epoch = self.redis("EVAL", LEAD, 2, key, f"{key}:epoch", token, ttl_ms)
            return epoch and Grant(token, fence=epoch)

        grant = try_for(wait_ms, lead)
        if grant:
            self.terms[token] = (grant.fence, threading.Event())
            renewal = (key, token, ttl_ms, grant.asked_at, self.terms[token][1])
            threading.Thread(target=self.renew, args=renewal, daemon=True).start()
        return grant

    # Returns the epoch if the client may act now, or None if it does not lead any more.
    def act(self, key, token):
        return self.terms[token][0] if self.redis("GET", key) == token else None

    def release(self, key, token):
        self.terms[token][1].set()
        return self.redis("EVAL", IF_MINE + "redis.call('DEL', KEYS[1])", 1, key, token) == 1

    def renew(self, key, token, ttl_ms, renewed_at, resigned):
        script = IF_MINE + "redis.call('PEXPIRE', KEYS[1], ARGV[2])"
        pause = ttl_ms / 1000 / 3
        while not resigned.wait(pause):
            asked_at = time.monotonic()
            try:
                is_mine = self.redis("EVAL", script, 1, key, token, ttl_ms)
            except Exception:
                # The next attempt may still come in time.
                pause = ttl_ms / 1000 / 20
                is_mine = time.monotonic() < renewed_at + ttl_ms / 1000 * 0.8
            else:
                pause = ttl_ms / 1000 / 3
                if is_mine and not resigned.is_set():
                    renewed_at = asked_at
                    extended(token, ttl_ms, asked_at)
            if not is_mine:
                if not resigned.is_set():
                    lost(token)
                return


if __name__ == "__main__":
    serve(MyLeader, name="my-leader", version="0.1.0", threads=True)
