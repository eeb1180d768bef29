"""Serves several clients of one process. Answers their pings when all have arrived, the last one first: correctly
(`well`), incorrectly (`twice`, `unrequested`, `other-client`), or it exits instead (`dies`). The second argument is the
number of pings."""

import json
import sys

how, expected = sys.argv[1], int(sys.argv[2])
pings = []


def say(**message):
    print(json.dumps(message), flush=True)


for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "init":
        say(id=request["id"], reply="ready", protocol=2, clients=True)
    elif request["op"] == "join":
        say(id=request["id"], reply="joined")
    elif request["op"] == "ping":
        pings.append(request)
        if len(pings) < expected:
            continue
        if how == "dies":
            sys.exit(3)
        if how == "unrequested":
            say(id=10**6, reply="pong")
        for ping in reversed(pings):
            client = ping["client"] + (how == "other-client")
            say(id=ping["id"], client=client, reply="pong")
            if how == "twice":
                say(id=ping["id"], reply="pong")
