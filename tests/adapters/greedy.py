"""The polite adapter, which with its first grant opens thirty unneeded connections to its first node, and never closes
them."""

import socket
from urllib.parse import urlsplit

import polite

nodes = []
connections = []


def answer(request):
    if request["op"] == "init":
        nodes.extend(request["nodes"])
    if request["op"] == "acquire" and not connections:
        node = urlsplit(nodes[0])
        for _ in range(30):
            connections.append(socket.create_connection((node.hostname, node.port)))
    return polite_answer(request)


polite_answer, polite.answer = polite.answer, answer
polite.run()
