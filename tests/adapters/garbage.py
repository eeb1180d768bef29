"""Says something that is no message: `garbage.py OP [KIND]`, KIND `text` (default), `huge` (a line
of two million characters) or `foreign` (JSON, but of no protocol)."""

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
