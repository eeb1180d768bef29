"""The plugin for pytest: one test per scenario, and the fixture `picklock`."""

from pathlib import Path

import pytest

from . import _engine

OPTIONS = {
    "picklock_backend": ("Where Redis runs: auto, process, docker or external", "auto"),
    "picklock_seed": ("Seed of each run", "1"),
    "picklock_unknown": ("Treatment of an inconclusive run: fail or skip", "fail"),
    "picklock_out": ("Directory of the failed runs, from the root of the tests", ".picklock"),
}


def pytest_addoption(parser):
    for name, (text, default) in OPTIONS.items():
        parser.addini(name, text, default=default)


def pytest_generate_tests(metafunc):
    suite = getattr(metafunc.function, "picklock_suite", None)
    if suite is None:
        return
    try:
        names = suite.names()
    except _engine.PicklockError as problem:
        raise pytest.UsageError(str(problem)) from None
    metafunc.parametrize("picklock_scenario", names)


class Runner:
    """Runs scenarios with the settings of the project."""

    def __init__(self, config):
        self._unknown = config.getini("picklock_unknown")
        if self._unknown not in ("fail", "skip"):
            raise pytest.UsageError(f"picklock_unknown: expected fail or skip, got {self._unknown!r}")
        self._settings = {"backend": config.getini("picklock_backend"), "seed": int(config.getini("picklock_seed")),
                          "out": Path(config.rootpath) / config.getini("picklock_out")}

    def run(self, lock, scenario, **settings):
        """Runs a scenario as `picklock.run` does. The test fails or is skipped with the reason."""
        # Hides this function and the engine from the report, which is about the lock.
        __tracebackhide__ = True
        unknown = settings.pop("unknown", self._unknown)
        try:
            return _engine.run(lock, scenario, **{**self._settings, **settings})
        except _engine.NotApplicable as reason:
            problem, end = reason, pytest.skip
        except _engine.Inconclusive as reason:
            problem, end = reason, pytest.skip if unknown == "skip" else _fail
        except (_engine.Violation, _engine.PicklockError) as reason:
            problem, end = reason, _fail
        end(str(problem))


def _fail(text):
    pytest.fail(text, pytrace=False)


@pytest.fixture
def picklock(request):
    """Runs a lock through scenarios: `picklock.run(MyLock, "gc-pause")`."""
    return Runner(request.config)
