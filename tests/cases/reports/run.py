"""Runs each case three times on real servers and prints the result: python3 run.py PICKLOCK [CASE...]

The variable SEEDS sets the number of runs of each case, JOBS the number of cases at a time.

The exit status is 1 if a case is wrong. A run that is `unknown` because of the machine is repeated up to three times.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SEEDS, JOBS = int(os.environ.get("SEEDS", 3)), int(os.environ.get("JOBS", 1))
JUDGED = ("exclusion", "lease", "resource", "ownership", "progress", "claims")


def violated(verdicts, name, cause="."):
    verdict = verdicts[name]
    return verdict["status"] == "violated" and re.fullmatch(cause, verdict.get("cause", "")) is not None


def all_held(verdicts):
    return all(verdicts[name]["status"] == "held" for name in JUDGED)


NAMED = r"(?!undetermined$|outlived-lease$)[a-z-]+"  # a specific cause

# name: lock, options, renews, scenario, required result
CASES = {
    "handover": ("handover", {}, False, "calm", all_held),
    "handover-pause": ("handover", {}, False, "stale-delete", all_held),
    "hash-field": ("plain-delete", {"how": "hash"}, False, "gc-pause",
                   lambda v: violated(v, "lease", "stolen-release") and violated(v, "ownership", "stolen-release")),
    "bystander": ("plain-delete", {"how": "string", "also": "LMOVE jobs:waiting jobs:active LEFT RIGHT"}, False, "gc-pause",
                  lambda v: violated(v, "lease", "stolen-release") and violated(v, "ownership", "stolen-release")),
    "two-keys": ("two-keys", {}, False, "calm", lambda v: violated(v, "claims", "false-release")),
    "two-keys-fixed": ("two-keys", {"fixed": "true"}, False, "calm", all_held),
    "flush-at-start": ("flush-at-start", {}, False, "neighbour-restarts.toml",
                       lambda v: violated(v, "ownership", r"(?!undetermined$|stolen-release$)[a-z-]+")
                       and violated(v, "exclusion", r"(?!undetermined$|stolen-release$|outlived-lease$)[a-z-]+")),
    "one-id": ("one-id", {}, False, "one-process.toml", all_held),
    "never-told": ("never-told", {}, True, "outage.toml",
                   lambda v: violated(v, "exclusion", "silent-loss|late-loss-report") and v["claims"]["status"] == "violated"),
    "break-together": ("break-together", {}, False, "holder-crash",
                       lambda v: violated(v, "exclusion", "race") and violated(v, "lease", "race")),
    "gives-up": ("gives-up", {}, False, "stops-asking.toml", lambda v: violated(v, "progress", NAMED)),
    "old-lifetime": ("old-lifetime", {}, False, "lost-release", lambda v: violated(v, "progress", NAMED)),
    "minimum-hold": ("minimum-hold", {}, False, "calm", all_held),
    "minimum-hold-undeclared": ("undeclared-hold", {}, False, "calm", lambda v: violated(v, "claims", "silent-release")),
}


def run(picklock, workdir, case, seed):
    lock, options, renews, scenario, _ = CASES[case]
    scenario = str(HERE / scenario) if scenario.endswith(".toml") else scenario
    config = workdir / f"{case}.toml"
    listed = "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
    config.write_text(f'[impl.{lock}]\ncommand = "{sys.executable} {HERE / "locks.py"} {lock}"\n'
                      f'renews = {str(renews).lower()}\n[impl.{lock}.environment]\nPYTHONPATH = "{workdir / "module"}"\n'
                      f'PYTHONDONTWRITEBYTECODE = "1"\n' + (f"[impl.{lock}.options]\n{listed}" if listed else ""))
    command = [picklock, "scenario", scenario, "--config", str(config), "--impl", lock, "--backend", "process",
               "--seed", str(seed), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=workdir)
    if not done.stdout.strip():
        raise SystemExit(f"{case}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)["verdicts"]


# Number of runs for a case in which two clients must act within a round trip of each other. If they do not, the run is
# held, and shows nothing.
MET_BY_CHANCE = {"break-together": 10}


def told(verdicts):
    parts = [f"{name} {verdicts[name]['status']} {verdicts[name].get('cause', '')}".strip()
             for name in JUDGED if verdicts[name]["status"] != "held"]
    return ", ".join(parts) or "all held"


def judge(picklock, workdir, case):
    outcomes = []
    for seed in range(1, SEEDS + 1):
        for attempt in range(MET_BY_CHANCE.get(case, 3)):
            verdicts = run(picklock, workdir, case, seed + 100 * attempt)
            is_decided = all(v["status"] != "unknown" for v in verdicts.values())
            has_met = case not in MET_BY_CHANCE or told(verdicts) != "all held"
            if CASES[case][4](verdicts) or is_decided and has_met:
                break
        outcomes.append((CASES[case][4](verdicts), told(verdicts)))
    is_right = all(right for right, _ in outcomes)
    first_wrong = next((words for right, words in outcomes if not right), outcomes[0][1])
    print(f"{'right' if is_right else 'wrong'}  {case}: {first_wrong}", flush=True)
    return is_right


def main():
    picklock, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(CASES)
    with tempfile.TemporaryDirectory() as folder:
        workdir = pathlib.Path(folder)
        subprocess.run([picklock, "init", "--lang", "python", str(workdir / "module")], check=True, capture_output=True)
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            right = list(pool.map(lambda case: judge(picklock, workdir, case), wanted))
    sys.exit(not all(right))


main()
