"""A polite adapter that floods the harness from its first grant on: `flood.py KIND`.

garbage   endless lines that are not messages
events    endless well-formed renewals of its grant
answers   endless well-formed answers without a request
line      one endless line
stderr    an endless log; it still answers
half      twenty connections, each with most of a command of 16 MB; it still answers
pieces    forty connections, each with most of a command of 7 MB; it still answers
replies   a value of 60 MB, written and read again twice; it still answers
messages  tokens and messages of half a megabyte; it still answers
"""

import json
import socket
import sys
import threading
from urllib.parse import urlsplit

import polite

kind = sys.argv.pop(1)
nodes = []
connections = []


def connect():
    node = urlsplit(nodes[0])
    return socket.create_connection((node.hostname, node.port))


def repeat(line):
    block = ((line + "\n") * (1 + 65536 // len(line))).encode()
    while True:
        sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()


def line():
    while True:
        sys.stdout.buffer.write(b"x" * 65536)
        sys.stdout.buffer.flush()


def stderr():
    while True:
        sys.stderr.buffer.write((b"y" * 99 + b"\n") * 650)
        sys.stderr.buffer.flush()


def half(count=20, length=16_000_000):
    for _ in range(count):
        connection = connect()
        connections.append(connection)
        connection.sendall(b"*2\r\n$3\r\nGET\r\n$%d\r\n" % length + b"z" * (length - 10))


def pieces():
    half(40, 7_000_000)


def replies(length=60_000_000):
    connection = connect()
    for _ in range(2):
        connection.sendall(b"*3\r\n$3\r\nSET\r\n$4\r\nhuge\r\n$%d\r\n" % length + b"z" * length + b"\r\n")
        connection.sendall(b"*2\r\n$3\r\nGET\r\n$4\r\nhuge\r\n")
        left = length
        while left > 0:
            left -= len(connection.recv(1 << 20))


# Floods that run in parallel to the answers. Each starts once.
BESIDE = {"stderr": stderr, "half": half, "pieces": pieces, "replies": replies}


def flood(request, granted):
    if kind == "garbage":
        repeat("no message " * 10)
    if kind == "events":
        repeat(json.dumps({"event": "extended", "token": granted["token"], "valid_ms": 90}))
    if kind == "answers":
        repeat(json.dumps({"id": request["id"], "reply": "pong"}))
    if kind == "line":
        line()
    beside = BESIDE.pop(kind, None)
    if beside is not None:
        threading.Thread(target=beside, daemon=True).start()


for text in sys.stdin:
    request = json.loads(text)
    answer = polite.answer(request)
    if request["op"] == "init":
        nodes.extend(request["nodes"])
    if kind == "messages" and request["op"] == "acquire":
        answer = {"reply": "granted", "token": "t" * 500_000 + str(request["id"])}
        if request["id"] % 2:
            answer = {"reply": "error", "message": "m" * 500_000, "definite": True}
    polite.say(json.dumps({"id": request["id"], **answer}))
    if answer["reply"] == "granted":
        flood(request, answer)
