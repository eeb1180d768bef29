"""Writes a line that is not a message: `garbage.py OP [KIND]`. KIND is `text` (default), `huge` (a line of two million
characters) or `foreign` (JSON, but not of the protocol)."""

import sys

import polite

KINDS = {
    "text": "Connected to Redis!",
    "huge": "x" * 2_000_000,
    "foreign": '{"status": "ok"}',
}


def misbehave(request):
    polite.say(KINDS[sys.argv[2] if len(sys.argv) > 2 else "text"])


polite.run(misbehave)
