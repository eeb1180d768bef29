"""A minimal Redis client, so that the example lock runs without a library. A real adapter should use the lock's own
client library; then delete this file."""

import socket
import threading
from urllib.parse import urlsplit

from picklock_adapter import Definite


class RespClient(threading.local):
    """One connection per thread to one server. It is opened when a command needs it, and closed when a command fails,
    so that a late reply is not mistaken for the reply to the next command. No command is sent twice."""

    def __init__(self, url, timeout_ms):
        parts = urlsplit(url)
        if parts.scheme != "redis":
            raise Definite(f"{url}: only redis://HOST:PORT is supported")
        self.address = (parts.hostname, parts.port)
        self.timeout = timeout_ms / 1000
        self.socket = None

    def __call__(self, *command):
        """Returns the reply: text, a number, or None. An error reply is raised as Definite, because the server has
        refused the command."""
        try:
            if self.socket is None:
                self.socket = socket.create_connection(self.address, self.timeout)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.replies = self.socket.makefile("rb")
            self.socket.sendall(_encode(command))
            return self._reply()
        except (OSError, ValueError):
            self.close()
            raise

    def close(self):
        if self.socket is not None:
            self.replies.close()
            self.socket.close()
            self.socket = None

    def _reply(self):
        line = self.replies.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise Definite(rest)
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind != b"$":
            raise ValueError(f"unexpected reply {line!r}")
        if rest == "-1":
            return None
        text = self.replies.read(int(rest) + 2)
        if len(text) != int(rest) + 2:
            raise ConnectionError("the server closed the connection")
        return text[:-2].decode()


def _encode(command):
    parts = [b"*%d\r\n" % len(command)]
    for word in command:
        word = str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)
