"""Hunts on real servers for each broken lock, replays each first counterexample, and prints a table.

usage: hunt.py PICKLOCK [--page PAGE] [LOCK...]

With --page, replaces the rows of these locks in the generated part of the page. The variable HUNT_SECONDS sets the time
of a hunt, REPLAYS the number of replays.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE.parent.parent / "tests" / "cases"
SECONDS, REPLAYS = int(os.environ.get("HUNT_SECONDS", 120)), int(os.environ.get("REPLAYS", 10))

MATCH = "match"
BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"
HEAD = ("| lock | first counterexample after | plan | property and cause | in the hunt | replays that match | plans |\n"
        "|---|---:|---|---|---|---|---:|")

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
        return f"| `{name}` | – | exit {done.returncode}: {done.stderr.strip()[-200:]} | – | – | – | – |"
    document = json.loads(done.stdout)
    found, plans = sorted(document["counterexamples"], key=lambda one: one.get("after_s") or 0), document.get("schedules")
    if not found:
        return f"| `{name}` | none in {SECONDS} s | – | – | – | – | {plans} |"
    first = found[0]
    outcomes = collections.Counter(replay(picklock, workdir, first) for _ in range(REPLAYS))
    others = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items() if outcome != MATCH)
    replays = f"{outcomes[MATCH]} of {REPLAYS}" + (f" ({others})" if others else "")
    of_catalog = re.search(r"runs the scenario (`[^`]+`)", " ".join(first["faults"]))
    plan = of_catalog[1] if of_catalog else "; ".join(first["faults"]) or "a workload without faults"
    recurred = first["recurred"]
    return (f"| `{name}` | {first['after_s']:.0f} s | {plan} | {first['property']}: `{first.get('cause')}` | "
            f"{recurred['times']} of {recurred['runs']} | {replays} | {plans} |")


def replay(picklock, workdir, found):
    """Replays a counterexample. The result is MATCH if the same property is violated by the same cause."""
    words = found["reproduce"].split()
    done = subprocess.run([picklock, *words[1:], "--json", "--quiet"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, cwd=workdir)
    try:
        verdict = json.loads(done.stdout)["verdicts"][found["property"]]
    except (ValueError, KeyError):
        return f"exit {done.returncode}"
    if verdict["status"] != "violated":
        return "inconclusive" if verdict["status"] == "unknown" else verdict["status"]
    return MATCH if verdict.get("cause") == found.get("cause") else f"`{verdict.get('cause')}`"


def replace_row(page, name, row):
    """Writes a row into the generated part of the page, at the place of the lock."""
    before, rest = page.read_text().split(BEGIN)
    generated, after = rest.split(END)
    rows = {words[1]: line for line in generated.splitlines() if (words := line.split("`"))[0] == "| "}
    rows[name] = row
    known = [rows[one] for one in LOCKS if one in rows]
    page.write_text(before + BEGIN + "\n\n" + "\n".join([HEAD, *known]) + "\n\n" + END + after)


def main():
    given = sys.argv[1:]
    page = None
    if "--page" in given:
        at = given.index("--page")
        page = pathlib.Path(given[at + 1])
        del given[at:at + 2]
    picklock, wanted = os.path.abspath(given[0]), given[1:] or list(LOCKS)
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        workdir = pathlib.Path(folder)
        subprocess.run([picklock, "init", "--lang", "python", str(workdir / "module")], check=True, capture_output=True)
        for name in wanted:
            row = hunt(picklock, workdir, name)
            print(row, flush=True)
            if page:
                replace_row(page, name, row)


main()
