#!/usr/bin/env python3
"""Locks that are broken by one mistake each, as a user would write them. Run by `hunt.py`; needs the adapter module of
`picklock init --lang python`.

usage: locks.py NAME
"""
import secrets
import socket
import sys

from picklock_adapter import Grant, serve, try_for
from resp_client import RespClient

IF_MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return "


class Correct:
    def __init__(self, nodes, timeout_ms, options):
        self.redis = RespClient(nodes[0], timeout_ms)

    def token(self):
        return secrets.token_hex(20)

    def attempt(self, key, token, ttl_ms):
        return self.redis("SET", key, token, "NX", "PX", ttl_ms)

    def acquire(self, key, ttl_ms, wait_ms):
        token = self.token()
        return try_for(wait_ms, lambda: self.attempt(key, token, ttl_ms) and Grant(token))

    def extend(self, key, token, ttl_ms):
        script = IF_MINE + "redis.call('PEXPIRE', KEYS[1], ARGV[2])"
        return try_for(0, lambda: self.redis("EVAL", script, 1, key, token, ttl_ms) and Grant(token))

    def release(self, key, token):
        return self.redis("EVAL", IF_MINE + "redis.call('DEL', KEYS[1])", 1, key, token) == 1


class GetThenDel(Correct):
    """The release compares and deletes in two commands."""

    def release(self, key, token):
        if self.redis("GET", key) != token:
            return False
        return self.redis("DEL", key) == 1


class PlainDel(Correct):
    """The release deletes whatever is there."""

    def release(self, key, token):
        return self.redis("DEL", key) == 1


class SetnxThenExpire(Correct):
    """The key and its expiry are two commands."""

    def attempt(self, key, token, ttl_ms):
        return self.redis("SETNX", key, token) and self.redis("PEXPIRE", key, ttl_ms)


class CheckThenSet(Correct):
    """The check and the write are two commands."""

    def attempt(self, key, token, ttl_ms):
        return self.redis("EXISTS", key) == 0 and self.redis("SET", key, token, "PX", ttl_ms)


class ConstantToken(Correct):
    """All clients write the same token."""

    def token(self):
        return "locked"


class HostToken(Correct):
    """The token is the name of the host."""

    def token(self):
        return socket.gethostname()


class AlwaysTrue(Correct):
    """The release says true, whatever the server answered."""

    def release(self, key, token):
        super().release(key, token)
        return True


LOCKS = {"correct": Correct, "get-then-delete": GetThenDel, "plain-delete": PlainDel, "setnx-then-expire": SetnxThenExpire,
         "check-then-set": CheckThenSet, "constant-token": ConstantToken, "host-token": HostToken,
         "always-true": AlwaysTrue}
if __name__ == "__main__":
    serve(LOCKS[sys.argv[1]], name=sys.argv[1], version="1", threads=True)
