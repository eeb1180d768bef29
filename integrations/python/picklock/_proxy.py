"""The proxy between a test and its Redis server, whose faults the test adds and removes."""

import contextlib
import json
import subprocess

from ._engine import PicklockError, _end, _message, engine


class Proxy:
    """A proxy that runs while it is open: `with picklock.Proxy("redis://127.0.0.1:6379") as proxy`. Its clients connect
    to `proxy.url`."""

    def __init__(self, upstream):
        words = ["proxy", "--json", "--until-stdin-closes", "--upstream", upstream]
        self._process = subprocess.Popen([engine(), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        if not line:
            raise PicklockError(_message(self._process.communicate()[1]))
        addresses = json.loads(line)
        self.url, self.control = addresses["proxy"], addresses["control"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        _end(self._process)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            pipe.close()

    def faults(self):
        """Returns the faults, and how often each has matched and fired."""
        return self._request("GET", "/faults")["faults"]

    def commands(self, after_ns=0):
        """Returns the entries of the command log."""
        return self._request("GET", f"/commands?after_ns={after_ns}")["commands"]

    @contextlib.contextmanager
    def fault(self, on, effect, **fields):
        """Adds a fault for the time of a `with` block. `picklock docs proxy` has the fields."""
        added = self._request("POST", "/faults", {"on": on, "effect": effect, **fields})
        try:
            yield added["id"]
        finally:
            self._request("DELETE", f"/faults/{added['id']}")

    def drop_request(self, **fields):
        return self.fault("request", "drop", **fields)

    def drop_reply(self, **fields):
        return self.fault("reply", "drop", **fields)

    def delay_request(self, for_ms, **fields):
        return self.fault("request", "delay", for_ms=for_ms, **fields)

    def delay_reply(self, for_ms, **fields):
        return self.fault("reply", "delay", for_ms=for_ms, **fields)

    def answer(self, error, **fields):
        return self.fault("request", "answer", error=error, **fields)

    def _request(self, method, path, body=None):
        # Imported here, because every run of pytest loads this module, and these take half of that time.
        import urllib.error
        import urllib.request

        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.control + path, data=data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as problem:
            raise PicklockError(json.load(problem)["error"]) from None
        except OSError as problem:
            raise PicklockError(f"the proxy does not answer: {problem}") from None
