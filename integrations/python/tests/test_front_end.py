"""Tests of the installed package. They start the engine, and need a Redis server."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import locks
import picklock
import pytest
from picklock import _engine

PROCESS = {"backend": "process"}


@pytest.fixture
def fresh_engine(monkeypatch):
    _engine.engine.cache_clear()
    yield monkeypatch
    _engine.engine.cache_clear()


def test_missing_binary_is_an_error(fresh_engine):
    fresh_engine.setenv("PICKLOCK_BINARY", "/nowhere/picklock")
    with pytest.raises(picklock.PicklockError, match="/nowhere/picklock is not a program"):
        picklock.plan(["calm"])


def test_binary_of_another_version_is_an_error(fresh_engine, tmp_path):
    other = tmp_path / "picklock"
    other.write_text("#!/bin/sh\necho picklock 9.9.9\n")
    other.chmod(0o755)
    fresh_engine.setenv("PICKLOCK_BINARY", str(other))
    with pytest.raises(picklock.PicklockError, match="is `picklock 9.9.9`, but this package needs version"):
        picklock.plan(["calm"])


def test_file_that_is_not_a_program_is_an_error(fresh_engine, tmp_path):
    other = tmp_path / "picklock"
    other.write_bytes(b"\x7fELF of another machine")
    other.chmod(0o755)
    fresh_engine.setenv("PICKLOCK_BINARY", str(other))
    with pytest.raises(picklock.PicklockError, match="may be for another platform"):
        picklock.plan(["calm"])


def test_profile_names_its_scenarios():
    names = [cell["scenario"] for cell in picklock.plan(profile="quick")]
    assert {"calm", "gc-pause"} <= set(names)


def test_unknown_scenario_is_an_error():
    with pytest.raises(picklock.PicklockError, match="no-such-scenario"):
        picklock.plan(["no-such-scenario"])


def test_class_inside_a_function_is_an_error(tmp_path):
    class Local(locks.Silent):
        pass

    with pytest.raises(picklock.PicklockError, match="define it at the top level of a file"):
        picklock.run(Local, "calm", out=tmp_path, **PROCESS)


def test_missing_server_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(picklock.PicklockError, match="apt install redis-server"):
        picklock.run(locks.Silent, "calm", out=tmp_path, **PROCESS)


def test_failing_constructor_is_in_the_error(tmp_path):
    with pytest.raises(picklock.PicklockError, match="ValueError: no such setting"):
        picklock.run(locks.FailingConstructor, "calm", out=tmp_path, **PROCESS)


def test_passing_lock_that_throws_when_taken_gets_a_warning(tmp_path):
    with pytest.warns(picklock.PicklockWarning, match="acquire requests failed although no fault .* 'NoneType' object"):
        result = picklock.run(locks.ThrowingWhenTaken, "calm", out=tmp_path, **PROCESS)
    assert result["claims"] == "held"
    assert len(result.warnings) == 1


def test_violation_explains_itself(tmp_path):
    with pytest.raises(picklock.Violation) as caught:
        picklock.run(locks.Chatty, "calm", out=tmp_path, **PROCESS)
    text = str(caught.value)
    assert caught.value.result["exclusion"] == "violated"
    for part in ("The lock's fault:", "Remedy: ", "The reference lock set-nx-px would keep: exclusion",
                 "a line of the library", "saved run", "replay"):
        assert part in text
    page = next(line for line in text.splitlines() if line.startswith("timeline")).split("file://")[1]
    assert Path(page).is_file()


def test_run_repeats_from_its_line(tmp_path):
    with pytest.raises(picklock.Violation) as caught:
        picklock.run(locks.Asynchronous, "calm", out=tmp_path, **PROCESS)
    line = str(caught.value).splitlines()[-1].removeprefix("repeat ")
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    # Whether the stock is damaged, too, is a race in this lock, so the other verdicts may differ.
    assert re.search("✘ exclusion", done.stdout), done.stdout + done.stderr


def test_expectation_accepts_a_known_violation(tmp_path):
    result = picklock.run(locks.Asynchronous, "calm", expect={"exclusion": "violated"}, out=tmp_path, **PROCESS)
    assert result["exclusion"] == "violated"
    assert not list(tmp_path.rglob("run.json"))


def test_semaphore_is_compared_with_a_semaphore(tmp_path):
    assert picklock.run(locks.Counter, "permits", out=tmp_path, **PROCESS)["exclusion"] == "held"
    names = picklock.scenarios(locks.Counter, profile="quick").picklock_suite.names()
    assert "permits-pause" in names and "gc-pause" not in names


def test_leader_that_does_not_look_is_a_violation(tmp_path):
    with pytest.raises(picklock.Violation, match="The reference lock leader would keep: exclusion"):
        picklock.run(locks.TrustfulLeader, "leader-pause", out=tmp_path, **PROCESS)


def test_token_of_another_type_is_in_the_failure(tmp_path):
    with pytest.raises((picklock.Violation, picklock.PicklockError), match="a lock returns its token as text"):
        picklock.run(locks.WrongToken, "calm", out=tmp_path, **PROCESS)


def test_interrupted_test_leaves_no_process(tmp_path):
    line = "import locks, picklock; picklock.run(locks.Silent, 'gc-pause', backend='process', out='.')"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    test = subprocess.Popen([sys.executable, "-c", line], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not _processes(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _processes(tmp_path)
    test.send_signal(signal.SIGINT)
    assert test.wait(30) != 0
    assert not _processes(tmp_path)


def test_threads_and_processes_of_a_lock_are_ended(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # No client gets this lock, and the run ends only after thirty leases.
    with pytest.raises(picklock.Violation, match="refused without having sent a command"):
        picklock.run(locks.LeavesThreads, "calm", ttl="500ms", **PROCESS)
    assert not _processes(tmp_path)


def _processes(directory):
    """Returns the workers that were started in a directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
            if b"picklock.worker" in words and (entry / "cwd").resolve() == directory.resolve():
                found.append(words)
        except OSError:
            continue
    return found
