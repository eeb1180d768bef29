#!/usr/bin/env python3
"""Picklock adapter for your lock around a scheduled job. The example takes a lock on the first node with SET NX PX. Its
release keeps the key for a minimum time, so that an instance whose clock is late does not run the job again."""

import secrets
import time

from picklock_adapter import Grant, serve, try_for
from resp_client import RespClient

IF_MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return "


class MyCronLock:
    # The minimum time from the request to the end of the key, longer than clocks and timers can differ.
    min_hold_ms = 600

    def __init__(self, nodes, timeout_ms, options):
        self.redis = RespClient(nodes[0], timeout_ms)
        self.requested_at = {}

    def acquire(self, key, ttl_ms, wait_ms):
        token = secrets.token_hex(20)
        self.requested_at[token] = time.monotonic()
        set_nx_px = ("SET", key, token, "NX", "PX", ttl_ms)
        return try_for(wait_ms, lambda: self.redis(*set_nx_px) and Grant(token))

    def release(self, key, token):
        held_ms = (time.monotonic() - self.requested_at[token]) * 1000
        left_ms = round(self.min_hold_ms - held_ms)
        end = "redis.call('PEXPIRE', KEYS[1], ARGV[2])" if left_ms > 0 else "redis.call('DEL', KEYS[1])"
        return self.redis("EVAL", IF_MINE + end, 1, key, token, left_ms) == 1


if __name__ == "__main__":
    serve(MyCronLock, name="my-cron", version="0.1.0", threads=True)
