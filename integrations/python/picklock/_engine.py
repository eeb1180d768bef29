"""Starts the engine, the program `picklock`, and turns its documents into results and failures."""

import functools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from ._adapter import kind_of
from ._features import missing

__version__ = "0.1.0"

# Seconds that an interrupted engine has to end its servers and workers.
PATIENCE = 15

# Asks the engine to end when its standard input is closed, which happens even if this process is killed.
END_WITH_STDIN = {"PICKLOCK_END_WITH_STDIN": "1"}

# Exit code of an engine that cannot start a run, because of what is installed.
ENVIRONMENT = 4

# Requested backends, with PATH and engine, with which no run can take place, for example without Redis.
_unavailable = set()

# Maximum number of lines of each worker's output in a failure.
LAST_LINES = 8


class PicklockError(Exception):
    """The run could not take place: no engine, no Redis, a lock that does not load."""


class Violation(AssertionError):
    """The lock did not keep what the reference or the test requires. `result` is the result of the run."""

    def __init__(self, text, result):
        super().__init__(text)
        self.result = result


class Inconclusive(PicklockError):
    """The run was inconclusive."""


class NotApplicable(PicklockError):
    """The lock does not offer what the scenario needs."""


class PicklockWarning(UserWarning):
    """A fact about the lock that no property judges, such as requests that failed without a fault."""


class Result:
    """The result of a run: the status and the cause of each property, and the texts of the warnings."""

    def __init__(self, scenario, cell):
        self.scenario = scenario
        self.verdicts = cell["verdicts"]
        self.warnings = _warnings(cell)

    def __getitem__(self, name):
        """Returns `held`, `violated`, `unknown` or `not-applicable`."""
        return self.verdicts[name]["status"]

    def __repr__(self):
        return f"<{self.scenario}: {', '.join(f'{name} {self[name]}' for name in self.verdicts)}>"


def binary():
    """Returns the path of the engine: PICKLOCK_BINARY, else that of this package, else that on the PATH."""
    given = os.environ.get("PICKLOCK_BINARY")
    if given:
        if not os.access(given, os.X_OK):
            raise PicklockError(f"PICKLOCK_BINARY: {given} is not a program")
        return given
    own = Path(__file__).with_name("bin") / "picklock"
    if own.is_file():
        return str(own)
    found = shutil.which("picklock")
    # The command of this package only starts the engine again.
    if found and Path(found).resolve().parent != Path(sys.executable).resolve().parent:
        return found
    raise PicklockError(
        f"this installation of picklock has no engine for {sys.platform}; install a wheel that has one, set "
        "PICKLOCK_BINARY to the program, or, on Windows, use WSL or the container")


@functools.lru_cache(maxsize=None)
def engine():
    """Returns the path of the engine, after checking its version."""
    path = binary()
    try:
        line = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60).stdout.strip()
    except OSError as problem:
        raise PicklockError(f"cannot start the engine {path}: {problem}; it may be for another platform") from None
    if line != f"picklock {__version__}":
        raise PicklockError(f"the engine {path} is `{line}`, but this package needs version {__version__}; "
                            "install the same version of both, or unset PICKLOCK_BINARY")
    return path


def main():
    """Becomes the engine: the command `picklock` of this package."""
    try:
        path = binary()
    except PicklockError as problem:
        sys.exit(f"picklock: {problem}")
    os.execv(path, [path, *sys.argv[1:]])


def call(*arguments):
    """Runs the engine. Returns its exit code, standard output and standard error. Interrupted, it ends the engine."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([engine(), *arguments], stdin=subprocess.PIPE, stdout=out, stderr=err,
                                   env={**os.environ, **END_WITH_STDIN})
        try:
            code = process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            process.stdin.close()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return code, *texts


def _end(process):
    process.send_signal(signal.SIGINT)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def document(*arguments):
    """Runs the engine, and returns its JSON document."""
    return _parsed(*call(*arguments))


def _parsed(code, out, err):
    if code == 130:
        raise PicklockError("the run was interrupted")
    if code == 2 or not out.strip():
        raise PicklockError(_message(err) or f"the engine ended with exit code {code}")
    return json.loads(out)


def _run_document(backend, *arguments):
    """Runs a scenario, and returns its document. If the engine can run nothing, the next runs fail at once."""
    place = backend, os.environ.get("PATH"), os.environ.get("PICKLOCK_BINARY")
    if place in _unavailable:
        raise PicklockError(f"no run can take place with the backend {backend}: the first failed test has the reason")
    code, out, err = call(*arguments)
    if code == ENVIRONMENT and not out.strip():
        _unavailable.add(place)
    return _parsed(code, out, err)


def _message(text):
    """Returns the message of the engine without its prefix, and without the lines about progress."""
    lines = text.strip().splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith(("picklock: ", "error: "))), 0)
    return "\n".join(lines[first:]).replace("picklock: ", "", 1)


def standard(lock, nodes):
    """Returns the built-in lock that a lock of this class is compared with by default."""
    kind = kind_of(lock)
    if kind != "mutex":
        return kind
    return "set-nx-px" if nodes == 1 else "redlock"


def plan(names=(), profile=None, reference="set-nx-px"):
    """Returns the scenarios of a selection, with the verdicts of the reference lock in each. A profile has the scenarios
    that suit that lock."""
    selected = ["--profile", profile] if profile else [word for name in names for word in ("--scenario", name)]
    return document("matrix", "--backend", "sim", "--impl", reference, "--json", "--quiet", *selected)["cells"]


def run(lock, scenario, *, reference=None, expect=None, backend="auto", seed=1, nodes=1, ttl=None, options=None,
        out=".picklock"):
    """Runs a lock through a scenario, and raises a `Violation` if it fails.

    With `expect`, such as {"lease": "held"}, these properties must have these statuses. Without it, the lock must keep
    each property that the built-in lock `reference` keeps. By default that is `set-nx-px`, `redlock` for a lock on several
    nodes, and `semaphore`, `rwlock` or `leader` for a lock of that kind.
    """
    reference = None if expect else reference or standard(lock, nodes)
    directory = Path(out).absolute() / _file_name(f"{lock.__module__}.{lock.__qualname__}") / _file_name(scenario)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    Path(out, ".gitignore").write_text("*\n")
    configuration = directory / "picklock.toml"
    configuration.write_text(_table(lock, nodes, options or {}), encoding="utf-8")
    arguments = ["matrix", "--config", str(configuration), "--impl", lock.__name__, "--scenario", scenario, "--seed",
                 str(seed), "--backend", backend, "--json", "--quiet", "--out", str(directory / "runs")]
    arguments += ["--reference", reference] if reference else []
    arguments += ["--ttl", ttl] if ttl else []
    cell = _run_document(backend, *arguments)["cells"][0]
    if "run_dir" in cell:
        (directory / "runs" / cell["run_dir"]).rename(directory / "run")
        shutil.rmtree(directory / "runs")
    _judge(lock, scenario, cell, reference, expect, directory)
    shutil.rmtree(directory, ignore_errors=True)
    result = Result(scenario, cell)
    for text in result.warnings:
        warnings.warn(f"{lock.__name__} in {scenario}: {text}", PicklockWarning, stacklevel=2)
    return result


def _warnings(cell):
    return [warning["text"] for warning in cell.get("warnings", ())]


def _judge(lock, scenario, cell, reference, expect, directory):
    title = f"{lock.__name__} in {scenario}"
    verdicts = cell["verdicts"]
    if "error" in cell:
        raise PicklockError("\n".join([f"{title} did not run: {cell['error']}", *_worker_output(directory)]))
    if all(verdict["status"] == "not-applicable" for verdict in verdicts.values()):
        raise NotApplicable(f"{title} is not applicable: {missing(verdicts)}")
    if expect:
        unknown_names = sorted(set(expect) - set(verdicts))
        if unknown_names:
            raise PicklockError(f"{', '.join(unknown_names)}: no such property; there are {', '.join(verdicts)}")
        wrong = {name: wanted for name, wanted in expect.items() if verdicts[name]["status"] != wanted}
        open_ = [name for name in wrong if verdicts[name]["status"] == "unknown"]
    else:
        wrong = {each["property"]: each["expected"] for each in cell["mismatches"]}
        open_ = [name for name in verdicts if verdicts[name]["status"] == "unknown"]
        wrong = {name: wanted for name, wanted in wrong.items() if name not in open_}
    failed = {name: wanted for name, wanted in wrong.items() if name not in open_}
    if failed:
        result = Result(scenario, cell)
        raise Violation(_failure(title, result, failed, reference, cell, directory), result)
    if open_:
        lines = [f"{title} cannot be judged: {', '.join(open_)} unknown: {_reason(verdicts)}"]
        if not any(_is_due_to_the_lock(verdicts[name]) for name in open_):
            lines.append("On a busy machine, run fewer tests at a time, or skip such tests: picklock_unknown = \"skip\".")
        lines += [f"Warning: {text}." for text in _warnings(cell)]
        lines += [*_worker_output(directory), "", _places(directory, cell)]
        raise Inconclusive("\n".join(lines))


def _is_due_to_the_lock(verdict):
    """Returns True if a property is unknown because the lock uses other servers than its nodes, or because it was never
    granted. A less busy machine does not help then."""
    return any(reason["kind"] == "other-servers"
               or reason["kind"] == "too-few-grants" and reason["granted"] == 0
               for reason in verdict.get("reasons", ()))


def _failure(title, result, failed, reference, cell, directory):
    found = [f"{name} is {_described(result.verdicts[name])}, expected {wanted}" for name, wanted in failed.items()]
    shared = [name for name, wanted in (cell["expected"] if reference else {}).items()
              if wanted == "any" and result[name] == "violated"]
    causes = [{result.verdicts[name].get("cause") for name in names} - {None} for names in (shared, failed)]
    first, *rest = story(str(directory / "run"), sorted(causes[0] - causes[1]))
    lines = [f"{title}: {first}", *rest, *_worker_output(directory), "", "; ".join(found)]
    if reference:
        lines.append(f"The reference lock {reference} would keep: {', '.join(failed)}.")
        if shared:
            lines.append(f"The reference lock does not keep these either, so they are not counted: {', '.join(shared)}.")
    lines += ["", _places(directory, cell)]
    return "\n".join(lines)


def _described(verdict):
    cause = verdict.get("cause")
    return f"{verdict['status']} ({cause})" if cause else verdict["status"]


def _reason(verdicts):
    lines = [line for verdict in verdicts.values() if verdict["status"] == "unknown" for line in verdict.get("story", ())]
    return "; ".join(dict.fromkeys(lines)) or "no reason is given"


def story(run_dir, uncounted_causes=()):
    """Returns the answer in the engine's report: what happened, whose fault it was, the remedy, and the deciding lines. It
    is the paragraph that begins with a mark, after the title. Without a violation it is the whole report. Violations with
    an uncounted cause are marked."""
    text = call("check", run_dir)[1]
    parts = text.split("\n\n")[1:]
    answers = [part for part in parts if part.startswith("✘ ")] or [text]
    answer = answers[0]
    for cause in uncounted_causes:
        answer = re.sub(rf"\n(  (?:Remedy:[^✘]*?\()?picklock\s+explain\s+{cause}[)\s])",
                        r"\n  Not counted: the reference lock fails here too.\n\1", answer)
    return answer.replace("(picklock explain", f"({_command()} explain").splitlines() or ["no report"]


def _command():
    """Returns how the user can start the engine."""
    return "picklock" if shutil.which("picklock") else engine()


def _worker_output(directory):
    lines, seen = [], set()
    for log in sorted(directory.glob("**/worker-*.log")):
        text = log.read_text(encoding="utf-8", errors="replace").strip()
        if text and text not in seen:
            seen.add(text)
            lines += ["", f"Output of {log.stem.replace('worker-', 'client ')}:"]
            lines += [f"  {line}" for line in text.splitlines()[-LAST_LINES:]]
    return lines


def _places(directory, cell):
    run_dir = directory / "run"
    call("report", str(run_dir), "--format", "html", "--out", str(directory))
    page = directory / "report.html"
    return "\n".join([f"backend    {cell['backend']}", f"saved run  {_short(run_dir)}", f"timeline   {page.as_uri()}",
                      f"repeat     {_command()} replay {shlex.quote(_short(run_dir))} --trust"])


def _short(path):
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _table(lock, nodes, options):
    """Returns the table that defines the lock for the engine: how its worker is started."""
    module = sys.modules[lock.__module__]
    file = getattr(module, "__file__", None)
    if "<locals>" in lock.__qualname__ or file is None:
        raise PicklockError(f"{lock.__qualname__}: a worker process must be able to import the class; define it at the "
                            "top level of a file")
    # The name of the main module is different in a worker, which must not run its tests again.
    name = Path(file).stem if lock.__module__ == "__main__" else lock.__module__
    command = [sys.executable, "-m", "picklock.worker", name, lock.__qualname__, str(Path(file).absolute())]
    package = str(Path(__file__).absolute().parent.parent)
    path = os.pathsep.join(dict.fromkeys([*(str(Path(each or ".").absolute()) for each in sys.path), package]))
    lines = [f"[impl.{json.dumps(lock.__name__)}]", f"command = {_toml(shlex.join(command))}",
             f"directory = {_toml(os.getcwd())}", f"nodes = {nodes}", f"kind = {_toml(kind_of(lock))}",
             f"environment = {{ PYTHONPATH = {_toml(path)} }}"]
    if options:
        pairs = ", ".join(f"{_toml(key)} = {_toml(str(value))}" for key, value in options.items())
        lines.append(f"options = {{ {pairs} }}")
    return "\n".join(lines) + "\n"


def _toml(text):
    return json.dumps(text, ensure_ascii=False)


def _file_name(text):
    return re.sub(r"[^A-Za-z0-9._-]", "_", text)
