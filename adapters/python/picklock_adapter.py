"""Picklock's adapter protocol, versions 1 and 2, for a lock in Python. Only the standard library.

`serve` reads requests from standard input and answers them; docs/protocol.md of Picklock describes
them. Output of your lock or its library is redirected to standard error, which goes to the worker's log.
"""

import contextvars
import json
import math
import os
import queue
import random
import sys
import threading
import time

PROTOCOLS = [1, 2]

# Flag of an `async def` in a function's `co_flags`.
_CO_COROUTINE = 0x80


class Definite(Exception):
    """Raise this if the request certainly had no effect: no key was changed. Every other exception is reported as one
    that may have had an effect."""


class Grant:
    """A granted lock.

    token: text that is passed back to `release` and `extend`.
    fence: the fencing token, if the lock has them: a number, larger with every grant.
    asked_at: when the command that took the lock was sent, by time.monotonic(). `try_for` sets it
        if the lock does not. Without it the answer has no `valid_ms`, and Picklock bounds the lease by its own clock.
    """

    def __init__(self, token, fence=None, asked_at=None):
        self.token = token
        self.fence = fence
        self.asked_at = asked_at


def try_for(wait_ms, attempt):
    """Calls `attempt` until it returns a grant or `wait_ms` is over; if that is 0, once. For locks that do not wait
    themselves."""
    until = time.monotonic() + wait_ms / 1000
    while True:
        asked_at = time.monotonic()
        grant = attempt()
        if grant:
            grant.asked_at = grant.asked_at or asked_at
            return grant
        pause = random.uniform(0.010, 0.050)
        if time.monotonic() + pause >= until:
            return None
        time.sleep(pause)


class LockObjects:
    """For a library whose lock is an object with `acquire` and `release`: one object for each grant.

    A subclass defines make(key, ttl_ms) -> the object, and take(lock, wait_ms) -> the grant's token, or None.
    `not_held` are the library's exceptions for a lock that its holder no longer has. Without any, the adapter reports
    whether a release succeeded only if the object's `release` returns a bool. `refused` are the exceptions of requests
    that certainly had no effect.
    """

    not_held = refused = ()

    def acquire(self, key, ttl_ms, wait_ms):
        lock = self.make(key, ttl_ms)
        token = self._call(self.take, lock, wait_ms)
        if not token:
            return None
        self._locks[token] = lock
        return Grant(token, asked_at=getattr(lock, "asked_at", None))

    def release(self, key, token):
        return self._end(token, self._lock(token).release)

    def section_failed(self, key, token):
        lock, problem = self._lock(token), RuntimeError("the section failed")
        leave = getattr(lock, "__exit__", None)
        return self._end(token, lock.release) if leave is None else self._end(token, leave, RuntimeError, problem, None)

    def _end(self, token, function, *arguments):
        try:
            said = self._call(function, *arguments)
        except self.not_held:
            del self._locks[token]
            return False
        # Not reached after any other exception, because the lock may still be held.
        del self._locks[token]
        # Ignore the result of `__exit__`, the only function with arguments: it is about the exception.
        if isinstance(said, bool) and not arguments:
            return said
        # A library without such an exception does not report whether the lock was still held.
        return True if self.not_held else None

    @property
    def _locks(self):
        # Created on first use, because a subclass does not call our `__init__`. One for all threads.
        return vars(self).setdefault("_locks", {})

    def _lock(self, token):
        if token not in self._locks:
            raise Definite(f"no grant has the token {token!r}")
        return self._locks[token]

    def _call(self, function, *arguments):
        try:
            return function(*arguments)
        except self.not_held:
            raise
        except self.refused as problem:
            raise Definite(f"{type(problem).__name__}: {problem}") from problem


class ExtendableLockObjects(LockObjects):
    """Objects that can be extended. A subclass also defines prolong(lock, ttl_ms)."""

    def extend(self, key, token, ttl_ms):
        asked_at = time.monotonic()
        try:
            self._call(self.prolong, self._lock(token), ttl_ms)
        except self.not_held:
            return None
        return Grant(token, asked_at=asked_at)


def timed(lock_class, attempt):
    """Returns a subclass whose objects record in `asked_at` when their method `attempt` last began, and that changes
    nothing else. Name the method that sends the command once: `acquire` retries, and does not report which attempt
    succeeded."""

    def noted(self, *arguments, **named):
        self.asked_at = time.monotonic()
        return getattr(lock_class, attempt)(self, *arguments, **named)

    return type(lock_class.__name__, (lock_class,), {attempt: noted})


def seconds(millis):
    """Converts milliseconds to seconds, exactly for a library that computes `int(seconds * 1000)`.

    1.001 * 1000 is 1000.9999999999999, but the conversion must not shorten the lease.
    """
    value = millis / 1000
    return value if int(value * 1000) >= millis else math.nextafter(value, math.inf)


def switch(options, name, default):
    """Parses an option that is `true` or `false`."""
    text = options.get(name, str(default).lower())
    if text not in ("true", "false"):
        raise Definite(f"option {name}: {text!r} is neither `true` nor `false`")
    return text == "true"


def timeouts(timeout_ms):
    """Returns redis-py's settings for the time limit of a command. Without the second, connecting to an unreachable
    node would take longer."""
    limit = timeout_ms / 1000
    return {"socket_timeout": limit, "socket_connect_timeout": limit}


def kind_of(lock):
    """Returns the kind of a lock or of its class, as the protocol names it."""
    by_method = (("set_capacity", "semaphore"), ("acquire_shared", "rwlock"), ("act", "leader"))
    return next((kind for method, kind in by_method if hasattr(lock, method)), "mutex")


def lost(token):
    """Reports to Picklock that a lease is lost. For locks that renew in the background."""
    _event({"event": "lost", "token": token})


def extended(token, ttl_ms, asked_at):
    """Reports to Picklock that a background task has renewed a lease for `ttl_ms`, counted from `asked_at`."""
    _event({"event": "extended", "token": token, "valid_ms": _left_ms(ttl_ms, asked_at)})


def serve(make_lock, name, version="", options=(), threads=False):
    """Answers requests until standard input ends, then ends the process.

    make_lock(nodes, timeout_ms, options) returns the lock. `nodes` are URLs such as redis://HOST:PORT.
    The lock has acquire(key, ttl_ms, wait_ms) -> Grant or None, release(key, token) -> True, False,
    or None if the library does not report whether the lock was still held, and, if it can, extend(key, token, ttl_ms)
    -> Grant or None.
    `options` are the names that `--impl-option` may have.

    The lock may have release_unheld(key), which unlocks although the lock was refused, as in a `finally`, and
    section_failed(key, token), which is called when an exception leaves the section and returns the same as release.
    A semaphore has set_capacity(permits), which is called before the first `acquire` with the number of permits that
    it may grant at the same time. If one acquisition can take several permits, it also has acquire_permits(key,
    permits, ttl_ms, wait_ms), whose grant covers all of them. A read/write lock has acquire_shared(key, ttl_ms,
    wait_ms), which lets a reader in; its `acquire` lets a writer in. A leader election has act(key, token), which is
    called before each act of the leader. It returns its epoch, or True if it has none, and None or False if the
    client does not lead any more. terminate() is called when the process receives SIGTERM, in the main thread or, for
    coroutines, on the event loop. It cleans up as the program or the library would in a shutdown hook, and the
    process then ends. Without it SIGTERM ends the process at once. A lock may have the attributes min_hold_ms (its key
    stays for up to this time after a release) and lease_margin_ms (its key lives this much longer than the lease).

    A class whose `acquire` is a coroutine is one lock for many clients on one event loop; a client that gives up cancels
    its task. With `threads`, it is one lock for many clients, each in its own thread. Otherwise a process has one
    client.
    """
    is_async = _is_coroutine_function(getattr(make_lock, "acquire", None))
    offers = {"clients": is_async or threads, "blocks_loop": is_async, "blocks_thread": threads, "cancels": is_async,
              "ends_clients": threads}
    adapter = _Adapter(make_lock, {"name": name, "version": version}, options, offers)
    if is_async:
        _serve_on_loop(adapter)
    else:
        _serve_in_threads(adapter, threads)
    # The library's own threads must not keep the process alive.
    os._exit(0)


def _is_coroutine_function(function):
    # Importing `inspect` takes as long as all the rest, and a process starts for each client.
    code = getattr(function, "__code__", None)
    if code is not None:
        return bool(code.co_flags & _CO_COROUTINE)
    import inspect

    return inspect.iscoroutinefunction(function)


def _requests():
    """Yields the requests, each with the time at which it was read."""
    for line in sys.stdin.buffer:
        read_at = time.monotonic()
        try:
            request = json.loads(line)
            request["id"]
        except (ValueError, KeyError, TypeError):
            print(f"not a request: {line!r}", file=sys.stderr)
            continue
        yield request, read_at


def _serve_on_loop(adapter):
    # Importing it takes longer than all the rest, and most locks do not need it.
    import asyncio

    given_up = set()

    async def reply(request, read_at):
        try:
            await adapter.reply(request, read_at)
        except asyncio.CancelledError:
            if request["id"] in given_up:
                adapter.write(request, {"reply": "cancelled"})
            else:
                adapter.write(request, {"reply": "error", "message": "it was cancelled from within", "definite": False})

    async def serve_all():
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        tasks = {}

        def begin(request, read_at):
            if request.get("op") == "cancel":
                if request["of"] in tasks:
                    given_up.add(request["of"])
                    # Cancel the task only after it has begun, because otherwise it would send no answer.
                    loop.call_soon(tasks[request["of"]].cancel)
                return
            number = request["id"]
            tasks[number] = loop.create_task(reply(request, read_at))
            tasks[number].add_done_callback(lambda _: tasks.pop(number, None))

        def read():
            for request, read_at in _requests():
                loop.call_soon_threadsafe(begin, request, read_at)
            loop.call_soon_threadsafe(ended.set_result, None)

        threading.Thread(target=read, daemon=True).start()
        await ended

    asyncio.run(serve_all())


def _serve_in_threads(adapter, many):
    """With `many`, each client has its own thread, even the only one of a process: `end-client` ends that thread.
    Otherwise the only client uses this one."""
    clients = {}
    for request, read_at in _requests():
        client = request.get("client")
        if not many or request.get("op") == "init":
            _without_loop(adapter.reply(request, read_at))
            continue
        if client not in clients:
            clients[client] = queue.SimpleQueue()
            threading.Thread(target=_serve_client, args=(adapter, clients[client]), daemon=True).start()
        clients[client].put((request, read_at))


def _serve_client(adapter, requests):
    while True:
        request, read_at = requests.get()
        _without_loop(adapter.reply(request, read_at))
        if request.get("op") == "end-client":
            return


def _without_loop(coroutine):
    """Runs a coroutine that never waits, because the lock's methods are functions."""
    try:
        coroutine.send(None)
    except StopIteration:
        pass


class _Adapter:
    def __init__(self, make_lock, about, options, offers):
        self.make_lock = make_lock
        self.ready = {"reply": "ready", **about}
        self.options = set(options)
        self.offers = offers
        self.lock = None

    async def reply(self, request, read_at):
        _client.set(request.get("client"))
        answer = await self.answer(request, read_at)
        if answer["reply"] == "granted":
            _client_of[answer["token"]] = request.get("client")
        self.write(request, answer)

    def write(self, request, answer):
        _write({"id": request["id"], **_named(request.get("client")), **answer})

    async def answer(self, request, read_at):
        try:
            return await self._answer(request.get("op"), request, read_at)
        except Definite as problem:
            return _error(str(problem), definite=True)
        except Exception as problem:
            # Rarely needed, and slow to import.
            import traceback

            traceback.print_exc()
            return _error(f"{type(problem).__name__}: {problem}", definite=False)

    async def _answer(self, op, request, read_at):
        if op == "ping":
            return {"reply": "pong"}
        if op == "init":
            return self._init(request)
        if op == "join":
            return {"reply": "joined"}
        if op == "end-client":
            return {"reply": "ended"}
        if op == "block":
            # Deliberately not asyncio's sleep: this blocks the whole event loop, or the thread.
            time.sleep(request["for_ms"] / 1000)
            return {"reply": "blocked"}
        if op not in ("acquire", "extend", "release", "release-unheld", "section-failed", "act"):
            raise Definite(f"unknown op {op!r}")
        if self.lock is None:
            raise Definite("`init` must come first")
        key = request["key"]
        if op == "release-unheld":
            return {"reply": "released", "released": await _done(self.lock.release_unheld(key))}
        if op == "release":
            return {"reply": "released", "released": await _done(self.lock.release(key, request["token"]))}
        if op == "act":
            epoch = await _done(self.lock.act(key, request["token"]))
            if epoch is None or epoch is False:
                return {"reply": "refused"}
            return {"reply": "acting", **({} if epoch is True else {"epoch": epoch})}
        if op == "section-failed":
            return {"reply": "released", "released": await _done(self.lock.section_failed(key, request["token"]))}
        ttl_ms = request["ttl_ms"]
        if op == "acquire":
            is_reader = request.get("mode") == "shared"
            acquire = self.lock.acquire_shared if is_reader else self.lock.acquire
            permits = [request["permits"]] if "permits" in request else []
            if permits:
                acquire = self.lock.acquire_permits
            return _granted(await _done(acquire(key, *permits, ttl_ms, request["wait_ms"])), ttl_ms, read_at)
        if not hasattr(self.lock, "extend"):
            return {"reply": "unsupported"}
        return _granted(await _done(self.lock.extend(key, request["token"], ttl_ms)), ttl_ms, read_at)

    def _init(self, request):
        offered = request.get("protocols", [request["protocol"]])
        versions = [version for version in offered if version in PROTOCOLS]
        if not versions:
            raise Definite(f"only the versions {PROTOCOLS} of the protocol are supported")
        options = request.get("options", {})
        unknown = sorted(set(options) - self.options)
        if unknown:
            raise Definite(f"unknown options {unknown}; there are {sorted(self.options)}")
        self.lock = self.make_lock(request["nodes"], request["timeout_ms"], options)
        if hasattr(self.lock, "terminate"):
            _at_sigterm(self.lock.terminate)
        is_semaphore = hasattr(self.lock, "set_capacity")
        if is_semaphore:
            self.lock.set_capacity(request.get("capacity", 1))
        ready = {**self.ready, "extends": hasattr(self.lock, "extend")}
        for name in ("min_hold_ms", "lease_margin_ms"):
            if getattr(self.lock, name, None):
                ready[name] = getattr(self.lock, name)
        if 2 not in versions:
            return ready
        unheld, fails = (hasattr(self.lock, name) for name in ("release_unheld", "section_failed"))
        return {**ready, "protocol": 2, **self.offers, "releases_unheld": unheld, "fails_sections": fails,
                "kinds": [kind_of(self.lock)], "several_permits": hasattr(self.lock, "acquire_permits")}


# The status that a shell reports for a process that SIGTERM ended.
_TERMINATED = 143


def _at_sigterm(clean_up):
    """Ends the process after the clean-up when it receives SIGTERM."""
    import signal

    if not _is_coroutine_function(clean_up):

        def end(_number, _frame):
            try:
                clean_up()
            finally:
                os._exit(_TERMINATED)

        signal.signal(signal.SIGTERM, end)
        return

    import asyncio

    loop = asyncio.get_running_loop()

    async def end_task():
        try:
            await clean_up()
        finally:
            os._exit(_TERMINATED)

    tasks = []
    loop.add_signal_handler(signal.SIGTERM, lambda: tasks.append(loop.create_task(end_task())))


async def _done(result):
    """Returns the result of a lock's method, whether or not it is a coroutine."""
    return await result if hasattr(result, "__await__") else result


def _granted(grant, ttl_ms, read_at):
    if grant is None:
        return {"reply": "refused"}
    answer = {"reply": "granted", "token": grant.token}
    # Computed before `valid_ms`, so that the time between the two cannot lengthen the lease.
    answer["elapsed_ms"] = math.floor((time.monotonic() - read_at) * 1000)
    if grant.fence is not None:
        answer["fence"] = grant.fence
    if grant.asked_at is not None:
        answer["valid_ms"] = _left_ms(ttl_ms, grant.asked_at)
    return answer


def _left_ms(ttl_ms, asked_at):
    return max(0, math.floor(ttl_ms - (time.monotonic() - asked_at) * 1000))


def _error(message, definite):
    return {"reply": "error", "message": message, "definite": definite}


def _take_stdout():
    """Reserves standard output for the protocol, and redirects all other output to standard error."""
    protocol = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return protocol


# The client of this task or thread, and the client of each grant by its token, for events of background tasks.
_client = contextvars.ContextVar("client", default=None)
_client_of = {}


def _event(event):
    client = _client_of.get(event["token"], _client.get())
    _write({**event, **_named(client)})


def _named(client):
    return {} if client is None else {"client": client}


# The Python package `picklock` contains this module, and imports it in processes that are not workers, too.
_output = None if __package__ else _take_stdout()
_one_line_at_a_time = threading.Lock()


def _write(message):
    with _one_line_at_a_time:
        _output.write(json.dumps(message) + "\n")
        _output.flush()
