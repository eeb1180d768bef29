"""Hunts on real servers for each broken lock, replays each first counterexample, and prints a table.

usage: hunt.py PICKLOCK [LOCK...]

The variable HUNT_SECONDS sets the time of a hunt, REPLAYS the number of replays.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE.parent.parent / "tests" / "cases"
SECONDS, REPLAYS = int(os.environ.get("HUNT_SECONDS", 120)), int(os.environ.get("REPLAYS", 10))

# name: program, whether it promises renewal
LOCKS = {
    **{name: (f"{HERE / 'locks.py'} {name}", False) for name in (
        "get-then-delete", "plain-delete", "setnx-then-expire", "check-then-set", "constant-token", "always-true")},
    **{name: (f"{CASES / 'reports' / 'locks.py'} {name}", False) for name in ("two-keys", "break-together", "gives-up")},
    **{name: (f"{CASES / 'renewals' / 'locks.py'} {name}", True) for name in ("only-first-try", "reports-late")},
}


def hunt(picklock, workdir, name):
    program, renews = LOCKS[name]
    config = workdir / f"{name}.toml"
    config.write_text(f'[impl.{name}]\ncommand = "{sys.executable} {program}"\nrenews = {str(renews).lower()}\n'
                      f'[impl.{name}.environment]\nPYTHONPATH = "{workdir / "module"}"\nPYTHONDONTWRITEBYTECODE = "1"\n')
    out = workdir / f"{name}-hunt"
    command = [picklock, "hunt", "--impl", name, "--config", str(config), "--backend", "process", "--for", f"{SECONDS}s",
               "--out", str(out), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=workdir)
    if not done.stdout.strip():
        return f"| `{name}` | – | exit {done.returncode}: {done.stderr.strip()[-200:]} | – |"
    document = json.loads(done.stdout)
    found = sorted(document["counterexamples"], key=lambda one: one.get("after_s") or 0)
    if not found:
        return f"| `{name}` | none in {SECONDS} s | {document.get('schedules')} plans | – |"
    first = found[0]
    same = sum(replay(picklock, workdir, first) for _ in range(REPLAYS))
    what = f"{first['property']}: {first.get('cause')}"
    return f"| `{name}` | {first['after_s']:.0f} s | {what} | {same} of {REPLAYS} |"


def replay(picklock, workdir, found):
    """Returns whether a replay violates the same property by the same cause."""
    words = found["reproduce"].split()
    done = subprocess.run([picklock, *words[1:], "--json", "--quiet"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, cwd=workdir)
    try:
        verdict = json.loads(done.stdout)["verdicts"][found["property"]]
    except (ValueError, KeyError):
        return False
    return verdict["status"] == "violated" and verdict.get("cause") == found.get("cause")


def main():
    picklock, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(LOCKS)
    print("| lock | first counterexample after | property and cause | replays that match |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        workdir = pathlib.Path(folder)
        subprocess.run([picklock, "init", "--lang", "python", str(workdir / "module")], check=True, capture_output=True)
        for name in wanted:
            print(hunt(picklock, workdir, name), flush=True)


main()
