#!/usr/bin/env python3
"""A web server that Picklock tests. Its handler takes a lock of redis-py. The adapter acts as the browser, in the same
process.

The shop is an ASGI application, which any ASGI server can run. Here no server runs it: the adapter calls it for each
request, as a test client does. So all clients share one event loop and one pool of connections. Between the acquisition
and the release, the handler waits in `section` for Picklock's work.

    picklock scenario crowd --impl "exec:python3 adapters/examples/web_server.py"
"""

import asyncio
import contextvars
import pathlib
import sys
from urllib.parse import parse_qsl, urlencode

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python"))

from picklock_adapter import Definite, Grant, seconds, serve, timeouts  # noqa: E402
from redis.asyncio import Redis  # noqa: E402
from redis.asyncio.lock import Lock  # noqa: E402
from redis.exceptions import LockNotOwnedError  # noqa: E402


class Shop:
    """POST /checkout takes the lock of an item. Status 200: done; 409: another request has it; 410: it was lost."""

    def __init__(self, url, timeout_ms, section):
        self.redis = Redis.from_url(url, retry=None, **timeouts(timeout_ms))
        self.section = section

    async def __call__(self, scope, receive, send):
        asked = dict(parse_qsl(scope["query_string"].decode()))
        wait = int(asked["wait_ms"]) / 1000
        lock = Lock(self.redis, asked["key"], timeout=seconds(int(asked["ttl_ms"])), sleep=0.02)
        status = 409
        if await lock.acquire(blocking=wait > 0, blocking_timeout=wait):
            status = 200
            try:
                await self.section(lock.local.token.decode())
            finally:
                try:
                    await lock.release()
                except LockNotOwnedError:
                    status = 410
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})


class SectionFailed(Exception):
    pass


# The future for the request that this task serves. It is resolved when the handler has entered its section.
_entered = contextvars.ContextVar("entered")


class Browser:
    """The lock that Picklock calls: each acquisition is a request, and each release lets its handler continue."""

    def __init__(self, nodes, timeout_ms, options):
        self.shop = Shop(nodes[0], timeout_ms, self.section)
        self.inside = {}

    async def acquire(self, key, ttl_ms, wait_ms):
        entered = asyncio.get_running_loop().create_future()
        response = asyncio.create_task(self.post(entered, key=key, ttl_ms=ttl_ms, wait_ms=wait_ms))
        try:
            await asyncio.wait({entered, response}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # The browser disconnects, and the server cancels the handler.
            response.cancel()
            raise
        if not entered.done():
            # If the handler raised an exception, `result` raises it again.
            assert response.result() == 409
            return None
        token, leave = entered.result()
        self.inside[token] = (leave, response)
        return Grant(token)

    async def release(self, key, token):
        leave, response = self.visit(token)
        leave.set_result(None)
        return await response == 200

    async def section_failed(self, key, token):
        leave, response = self.visit(token)
        leave.set_exception(SectionFailed())
        try:
            await response
        except SectionFailed:
            # The exception does not show whether the `finally` of the handler released the lock.
            return None

    def visit(self, token):
        if token not in self.inside:
            raise Definite(f"no request is inside with the token {token!r}")
        return self.inside.pop(token)

    async def section(self, token):
        leave = asyncio.get_running_loop().create_future()
        _entered.get().set_result((token, leave))
        await leave

    async def post(self, entered, **query):
        _entered.set(entered)
        answer = []
        scope = {"type": "http", "method": "POST", "path": "/checkout", "query_string": urlencode(query).encode()}

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            answer.append(message)

        await self.shop(scope, receive, send)
        return answer[0]["status"]


if __name__ == "__main__":
    serve(Browser, name="web-server-python")
