"""The polite adapter, with thirty connections to its first node that it does not need."""

import socket
from urllib.parse import urlsplit

import polite

connections = []


def answer(request):
    if request["op"] == "init":
        for url in request["nodes"][:1] * 30:
            node = urlsplit(url)
            connections.append(socket.create_connection((node.hostname, node.port)))
    return polite_answer(request)


polite_answer, polite.answer = polite.answer, answer
polite.run()
