"""Odd but correct locks, in ten to forty lines each. Picklock must accuse none of them of anything that the built-in
lock `set-nx-px` does not do either. `picklock.toml` names them; needs `picklock_adapter`.

usage: locks.py NAME
"""
import hashlib
import json
import pathlib
import secrets
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/cases"))
from picklock_adapter import Grant, extended, lost, serve, try_for
from resp import Redis  # noqa: E402

NOW = "local now = redis.call('TIME') now = now[1] * 1000 + math.floor(now[2] / 1000) "


class Lock:
    """SET NX PX, released and extended by scripts that compare. The other locks override what they do differently."""

    GREETING = ()
    TAKE = "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0"
    IS_MINE = "redis.call('GET', KEYS[1]) == ARGV[1]"
    FREE = "return redis.call('DEL', KEYS[1])"
    EXTEND = "return redis.call('PEXPIRE', KEYS[1], ARGV[2])"

    def __init__(self, nodes, timeout_ms, options):
        self.url, self.timeout_ms = nodes[0], timeout_ms
        self.redis = Redis(nodes[0], timeout_ms, self.GREETING)
        self.setup()

    def setup(self):
        pass

    def keys(self, key):
        return [key]

    def value(self, token):
        return token

    def call(self, script, key, *arguments):
        keys = self.keys(key)
        return self.redis("EVAL", script, len(keys), *keys, *arguments)

    def call_if_mine(self, script, key, token, *arguments):
        script = f"if not ({self.IS_MINE}) then return 0 end {script}"
        return self.call(script, key, self.value(token), *arguments) == 1

    def take(self, key, token, ttl_ms):
        return self.call(self.TAKE, key, self.value(token), ttl_ms) == 1

    def attempt(self, key, token, ttl_ms):
        return Grant(token) if self.take(key, token, ttl_ms) else None

    def acquire(self, key, ttl_ms, wait_ms):
        token = secrets.token_hex(12)
        return try_for(wait_ms, lambda: self.attempt(key, token, ttl_ms))

    def extend(self, key, token, ttl_ms):
        asked_at = time.monotonic()
        is_mine = self.call_if_mine(self.EXTEND, key, token, ttl_ms)
        return Grant(token, asked_at=asked_at) if is_mine else None

    def release(self, key, token):
        return self.call_if_mine(self.FREE, key, token)

    def section_failed(self, key, token):
        return self.release(key, token)


class Tickets(Lock):
    """A queue: a client draws a ticket, and the lowest ticket whose client still polls takes the key."""

    TAKE = NOW + """
        if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then
            redis.call('ZADD', KEYS[2], redis.call('INCR', KEYS[4]), ARGV[1])
        end
        redis.call('HSET', KEYS[3], ARGV[1], now)
        local head = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
        while head ~= ARGV[1] and now - (tonumber(redis.call('HGET', KEYS[3], head)) or 0) > 300 do
            redis.call('ZREM', KEYS[2], head)
            redis.call('HDEL', KEYS[3], head)
            head = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
        end
        redis.call('PEXPIRE', KEYS[2], 60000)
        redis.call('PEXPIRE', KEYS[3], 60000)
        if head ~= ARGV[1] or not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
        redis.call('ZREM', KEYS[2], ARGV[1])
        redis.call('HDEL', KEYS[3], ARGV[1])
        return 1"""
    LEAVE = "redis.call('ZREM', KEYS[2], ARGV[1]) redis.call('HDEL', KEYS[3], ARGV[1])"

    def keys(self, key):
        return [key, f"queue:{key}", f"seen:{key}", f"tickets:{key}"]

    def acquire(self, key, ttl_ms, wait_ms):
        token = secrets.token_hex(12)
        grant = try_for(wait_ms, lambda: self.attempt(key, token, ttl_ms))
        if not grant:
            self.call(self.LEAVE, key, token)
        return grant


class HashFields(Lock):
    """The owner and the number of its holds are fields of a hash."""

    TAKE = """if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
        redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'holds', 1) return redis.call('PEXPIRE', KEYS[1], ARGV[2])"""
    IS_MINE = "redis.call('HGET', KEYS[1], 'owner') == ARGV[1]"
    FREE = """if redis.call('HINCRBY', KEYS[1], 'holds', -1) > 0 then return 0 end return redis.call('DEL', KEYS[1])"""


class TokenList(Lock):
    """The owner's token is the only element of a list."""

    TAKE = """if redis.call('LLEN', KEYS[1]) > 0 then return 0 end
        redis.call('RPUSH', KEYS[1], ARGV[1]) return redis.call('PEXPIRE', KEYS[1], ARGV[2])"""
    IS_MINE = "redis.call('LINDEX', KEYS[1], 0) == ARGV[1]"
    FREE = "return redis.call('LREM', KEYS[1], 1, ARGV[1])"


class Deadlines(Lock):
    """A sorted set: the score of the owner's token is the end of the lease by the server's clock."""

    TAKE = NOW + """redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
        if redis.call('ZCARD', KEYS[1]) > 0 then return 0 end
        redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1]) return redis.call('PEXPIRE', KEYS[1], ARGV[2])"""
    IS_MINE = "redis.call('ZSCORE', KEYS[1], ARGV[1])"
    FREE = "return redis.call('ZREM', KEYS[1], ARGV[1])"
    EXTEND = NOW + "redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1]) return redis.call('PEXPIRE', KEYS[1], ARGV[2])"


class JsonValue(Lock):
    """The value is a JSON document, and the scripts compare one of its fields."""

    IS_MINE = "cjson.decode(redis.call('GET', KEYS[1]) or '{}').owner == cjson.decode(ARGV[1]).owner"

    def value(self, token):
        return json.dumps({"owner": token, "host": "shop-1"})


class WakesByMessage(Lock):
    """A waiting client subscribes to a channel, to which a release publishes, and looks again at the latest after 250 ms."""

    FREE = "redis.call('DEL', KEYS[1]) redis.call('PUBLISH', 'free:' .. KEYS[1], 1) return 1"

    def acquire(self, key, ttl_ms, wait_ms):
        token, until, ear = secrets.token_hex(12), time.monotonic() + wait_ms / 1000, None
        try:
            while True:
                asked_at = time.monotonic()
                if self.take(key, token, ttl_ms):
                    return Grant(token, asked_at=asked_at)
                left = until - time.monotonic()
                if left <= 0:
                    return None
                if ear is None:
                    # The lock may have been released before this: so the next step is another attempt.
                    ear = self.subscribe(f"free:{key}")
                    continue
                ear.settimeout(min(left, 0.25))
                try:
                    if not ear.recv(4096):
                        raise OSError("the subscription was closed")
                except TimeoutError:
                    pass
        finally:
            if ear is not None:
                ear.close()

    def subscribe(self, channel):
        ear = socket.create_connection(self.redis.address, self.redis.timeout)
        ear.settimeout(self.redis.timeout)
        ear.sendall(f"SUBSCRIBE {channel}\r\n".encode())
        ear.recv(4096)
        return ear


class Functions(Lock):
    """Functions of a library instead of scripts. A server that does not know it (any more) gets it again."""

    LIBRARY = """#!lua name=honest
        local function is_mine(keys, args) return redis.call('GET', keys[1]) == args[1] end
        redis.register_function('take', function(keys, args)
            return redis.call('SET', keys[1], args[1], 'NX', 'PX', args[2]) and 1 or 0 end)
        redis.register_function('extend', function(keys, args)
            return is_mine(keys, args) and redis.call('PEXPIRE', keys[1], args[2]) or 0 end)
        redis.register_function('free', function(keys, args)
            return is_mine(keys, args) and redis.call('DEL', keys[1]) or 0 end)"""
    TAKE, EXTEND, FREE = "take", "extend", "free"

    def call(self, script, key, *arguments):
        try:
            return self.redis("FCALL", script, 1, key, *arguments)
        except RuntimeError as problem:
            if "not found" not in str(problem).lower():
                raise
            self.redis("FUNCTION", "LOAD", "REPLACE", self.LIBRARY)
            return self.redis("FCALL", script, 1, key, *arguments)

    def call_if_mine(self, script, key, token, *arguments):
        return self.call(script, key, token, *arguments) == 1


class ByHash(Lock):
    """Scripts by their SHA-1, sent whole if the server has forgotten them."""

    def call(self, script, key, *arguments):
        try:
            return self.redis("EVALSHA", hashlib.sha1(script.encode()).hexdigest(), 1, key, *arguments)
        except RuntimeError as problem:
            if not str(problem).startswith("NOSCRIPT"):
                raise
            return super().call(script, key, *arguments)


class BinaryKeys(Lock):
    """Keys and values are bytes that are not text."""

    def keys(self, key):
        return [b"\x00\xff\r\n" + key.encode() + b"\xc3"]

    def value(self, token):
        return bytes.fromhex(token)


class HashedKeys(Lock):
    """The key is a digest of the lock's name."""

    def keys(self, key):
        return ["{locks}:" + hashlib.sha1(key.encode()).hexdigest()]


class AnotherDatabase(Lock):
    """The keys are in database 3."""

    GREETING = (("SELECT", 3),)


class Resp3(Lock):
    """Speaks RESP3."""

    GREETING = (("HELLO", 3),)


class UntilTime(Lock):
    """Reads TIME, and sets the end of the lease with PXAT. Refuses if too little of the lease is left then."""

    def attempt(self, key, token, ttl_ms):
        asked_at = time.monotonic()
        seconds, micros = self.redis("TIME")
        until_ms = int(seconds) * 1000 + int(micros) // 1000 + ttl_ms
        if self.redis("SET", key, token, "NX", "PXAT", until_ms) != "OK":
            return None
        if time.monotonic() - asked_at > 0.9 * ttl_ms / 1000:
            self.release(key, token)
            return None
        return Grant(token, asked_at=asked_at)


class OneIdPerProcess(Lock):
    """One owner id for the process; in front of Redis a local lock, which also ends with the lease. After a release without
    an answer the process takes another id, because that release may still arrive."""

    def setup(self):
        self.id, self.ids, self.holders, self.changed = secrets.token_hex(12), {}, {}, threading.Condition()

    def value(self, token):
        return self.ids.setdefault(token, self.id)

    def is_free(self, key):
        return time.monotonic() >= self.holders.get(key, (None, 0))[1]

    def hold(self, key, token, until):
        with self.changed:
            self.holders[key] = (token, until)

    def acquire(self, key, ttl_ms, wait_ms):
        token, until = secrets.token_hex(12), time.monotonic() + wait_ms / 1000
        with self.changed:
            while not self.is_free(key):
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self.changed.wait(min(left, 0.05))
            self.holders[key] = (token, until + self.timeout_ms / 1000 + ttl_ms / 1000)
        grant = None
        try:
            left_ms = max(0, until - time.monotonic()) * 1000
            grant = try_for(left_ms, lambda: self.attempt(key, token, ttl_ms))
        finally:
            if grant:
                self.hold(key, token, grant.asked_at + ttl_ms / 1000)
            else:
                self.leave(key, token)
        return grant

    def leave(self, key, token):
        with self.changed:
            if self.holders.get(key, (None, 0))[0] == token:
                del self.holders[key]
                self.changed.notify_all()

    def is_holder(self, key, token):
        with self.changed:
            return self.holders.get(key, (None, 0))[0] == token

    def extend(self, key, token, ttl_ms):
        grant = super().extend(key, token, ttl_ms) if self.is_holder(key, token) else None
        if grant:
            self.hold(key, token, grant.asked_at + ttl_ms / 1000)
        return grant

    def release(self, key, token):
        if not self.is_holder(key, token):
            return False
        try:
            return super().release(key, token)
        except OSError:
            self.id = secrets.token_hex(12)
            raise
        finally:
            self.leave(key, token)


class Handover(Lock):
    """A release passes the lock to the first waiting client of a list, by writing that client's token."""

    TAKE = """if redis.call('EXISTS', KEYS[1]) == 1 then
            redis.call('RPUSH', KEYS[2], ARGV[1]) redis.call('PEXPIRE', KEYS[2], 60000) return 0 end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1"""
    FREE = """local next = redis.call('LPOP', KEYS[2])
        if next then redis.call('SET', KEYS[1], next, 'PX', ARGV[2]) else redis.call('DEL', KEYS[1]) end return 1"""

    def setup(self):
        self.ttl_ms = 1000

    def keys(self, key):
        return [key, f"waiting:{key}"]

    def acquire(self, key, ttl_ms, wait_ms):
        self.ttl_ms, token, until = ttl_ms, secrets.token_hex(12), time.monotonic() + wait_ms / 1000
        asked_at = time.monotonic()
        if self.take(key, token, ttl_ms):
            return Grant(token, asked_at=asked_at)
        while time.monotonic() < until:
            asked_at = time.monotonic()
            grant = self.extend(key, token, ttl_ms)
            if grant:
                return grant
            if self.redis("SET", key, token, "NX", "PX", ttl_ms) == "OK":
                self.redis("LREM", f"waiting:{key}", 0, token)
                return Grant(token, asked_at=asked_at)
            time.sleep(0.02)
        self.redis("LREM", f"waiting:{key}", 0, token)
        self.release(key, token)
        return None

    def release(self, key, token):
        return self.call_if_mine(self.FREE, key, token, self.ttl_ms)


class MinimumHold(Lock):
    """The key stays for 200 ms after a release, as locks of scheduled jobs keep it, and declares that."""

    min_hold_ms = 200
    FREE = "if redis.call('PTTL', KEYS[1]) > 200 then redis.call('PEXPIRE', KEYS[1], 200) end return 1"


class OwnMargin(Lock):
    """The key lives 500 ms longer than the lease, and the lock declares that."""

    lease_margin_ms = 500
    TAKE = "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2] + 500) and 1 or 0"
    EXTEND = "return redis.call('PEXPIRE', KEYS[1], ARGV[2] + 500)"


class Renamed(Lock):
    """Prepares a key of its own with value and expiry, and renames it to the lock's key, if there is none."""

    def take(self, key, token, ttl_ms):
        prepared = f"prepared:{token}"
        self.redis("SET", prepared, token, "PX", ttl_ms)
        if self.redis("RENAMENX", prepared, key) == 1:
            return True
        self.redis("DEL", prepared)
        return False


class Copied(Lock):
    """The same with COPY, which copies the expiry, too."""

    def take(self, key, token, ttl_ms):
        prepared = f"prepared:{token}"
        self.redis("SET", prepared, token, "PX", ttl_ms)
        taken = self.redis("COPY", prepared, key) == 1
        self.redis("DEL", prepared)
        return taken


class Transaction(Lock):
    """Takes the key in a transaction, and reads the remaining time in it."""

    def take(self, key, token, ttl_ms):
        self.redis("MULTI")
        try:
            self.redis("SET", key, token, "NX", "PX", ttl_ms)
            self.redis("PTTL", key)
        except RuntimeError:
            self.redis("DISCARD")
            raise
        return self.redis("EXEC")[0] == "OK"


class SetAndGet(Lock):
    """SET with NX and GET: no old value means that the key is taken."""

    def take(self, key, token, ttl_ms):
        return self.redis("SET", key, token, "NX", "GET", "PX", ttl_ms) is None


class ReadsBack(Lock):
    """After an error it tries again with the same token, and a key that has this token is its own since the first try."""

    def acquire(self, key, ttl_ms, wait_ms):
        token, first_asked_at = secrets.token_hex(12), None

        def attempt():
            nonlocal first_asked_at
            asked_at = time.monotonic()
            try:
                if self.take(key, token, ttl_ms):
                    return Grant(token, asked_at=asked_at)
                if first_asked_at is None or self.redis("GET", key) != token:
                    return None
            except OSError:
                first_asked_at = first_asked_at or asked_at
                return None
            if time.monotonic() - first_asked_at > 0.9 * ttl_ms / 1000:
                return None
            return Grant(token, asked_at=first_asked_at)

        grant = try_for(wait_ms, attempt)
        if grant is None and first_asked_at is not None:
            self.release(key, token)
        return grant


class TwoKeys(Lock):
    """Takes two keys, one after the other, and gives back the first one if the second one is taken."""

    IS_MINE = "redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('GET', KEYS[2]) == ARGV[1]"
    FREE = "redis.call('DEL', KEYS[1], KEYS[2]) return 1"
    EXTEND = "redis.call('PEXPIRE', KEYS[1], ARGV[2]) return redis.call('PEXPIRE', KEYS[2], ARGV[2])"

    def keys(self, key):
        return [f"order:{key}", f"item:{key}"]

    def take(self, key, token, ttl_ms):
        first, second = self.keys(key)
        if self.redis("SET", first, token, "NX", "PX", ttl_ms) != "OK":
            return False
        if self.redis("SET", second, token, "NX", "PX", ttl_ms) == "OK":
            return True
        self.redis("EVAL", f"if {Lock.IS_MINE} then redis.call('DEL', KEYS[1]) end", 1, first, token)
        return False

    def release(self, key, token):
        freed = [self.redis("EVAL", f"if {Lock.IS_MINE} then {Lock.FREE} end return 0", 1, one, token)
                 for one in self.keys(key)]
        return freed == [1, 1]


class Renewing(Lock):
    """Renews in the background while the holder's thread lives, and reports a loss when the lease ends, even if the renewal
    still waits for an answer."""

    def setup(self):
        self.stops = {}

    def acquire(self, key, ttl_ms, wait_ms):
        grant = super().acquire(key, ttl_ms, wait_ms)
        if grant:
            stop = self.stops[grant.token] = threading.Event()
            lease = {"end": grant.asked_at + ttl_ms / 1000, "holder": threading.current_thread()}
            for work in (self.renew, self.watch):
                threading.Thread(target=work, args=(key, grant.token, ttl_ms, stop, lease), daemon=True).start()
        return grant

    def renew(self, key, token, ttl_ms, stop, lease):
        while not stop.wait(ttl_ms / 4000):
            asked_at = time.monotonic()
            if not lease["holder"].is_alive():
                return
            try:
                if not self.call_if_mine(self.EXTEND, key, token, ttl_ms):
                    lease["end"] = 0
                    return
            except (OSError, RuntimeError) as problem:
                print("renewal:", problem, file=sys.stderr)
                continue
            if stop.is_set() or lease["end"] < time.monotonic():
                return
            lease["end"] = asked_at + ttl_ms / 1000
            extended(token, ttl_ms, asked_at)

    def watch(self, key, token, ttl_ms, stop, lease):
        while not stop.wait(0.01):
            if time.monotonic() > lease["end"]:
                stop.set()
                lost(token)

    def extend(self, key, token, ttl_ms):
        stop = self.stops.get(token)
        return None if stop is None or stop.is_set() else super().extend(key, token, ttl_ms)

    def release(self, key, token):
        stop = self.stops.pop(token, None)
        if stop:
            stop.set()
        return super().release(key, token)


LOCKS = {
    "tickets": Tickets, "hash-fields": HashFields, "token-list": TokenList, "deadlines": Deadlines,
    "json-value": JsonValue, "wakes-by-message": WakesByMessage, "functions": Functions, "by-hash": ByHash,
    "binary-keys": BinaryKeys, "hashed-keys": HashedKeys, "another-database": AnotherDatabase, "resp3": Resp3,
    "until-time": UntilTime, "one-id": OneIdPerProcess, "handover": Handover, "minimum-hold": MinimumHold,
    "own-margin": OwnMargin, "renamed": Renamed, "copied": Copied, "transaction": Transaction,
    "set-and-get": SetAndGet, "reads-back": ReadsBack, "two-keys": TwoKeys, "renewing": Renewing,
}

if __name__ == "__main__":
    serve(LOCKS[sys.argv[1]], name=sys.argv[1], version="1", threads=True)
