"""Tries to control the terminal: its name, its errors and its log are full of escape codes."""

import json
import sys

import polite

EVIL = "\x1b[2J\x1b]0;owned\x07\u202e\r\nPASSED"

print(EVIL, file=sys.stderr, flush=True)
for line in sys.stdin:
    request = json.loads(line)
    answer = polite.answer(request)
    if request["op"] == "init":
        answer["name"] = answer["version"] = EVIL
    if request["op"] == "acquire" and request["id"] % 3 == 0:
        answer = {"reply": "error", "message": EVIL, "definite": True}
    if request["op"] == "acquire" and request["id"] % 5 == 0:
        polite.say("\x1b[31mgarbage\x1b[0m")
    polite.say(json.dumps({"id": request["id"], **answer}))
