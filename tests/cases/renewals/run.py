"""Runs each case three times on real servers and prints the result: python3 run.py PICKLOCK [CASE...]

The variable SEEDS sets the number of runs of each case, JOBS the number of cases at a time.

The exit status is 1 if a case is wrong. A run that is `unknown` because of the machine is repeated up to three times.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SEEDS, JOBS = int(os.environ.get("SEEDS", 3)), int(os.environ.get("JOBS", 1))
JUDGED = ("exclusion", "lease", "resource", "ownership", "progress", "claims")


def violated(run, name, *causes):
    verdict = run["verdicts"][name]
    return verdict["status"] == "violated" and (not causes or verdict.get("cause") in causes)


def all_held(run):
    return all(run["verdicts"][name]["status"] == "held" for name in JUDGED)


def caused(run, *causes):
    return any(verdict.get("cause") in causes for verdict in run["verdicts"].values())


# name: lock, scenario, required result
CASES = {
    "correct-stuck": ("half-pace", "stuck-holder", lambda r: r["verdicts"]["claims"]["status"] == "held"),
    "correct-late-grant-reply": ("correct", "late-grant-reply", all_held),
    "correct-slow-waiter": ("correct", "slow-waiter", all_held),
    "correct-key-gone": ("correct", "key-gone", all_held),
    "correct-cut-off": ("correct", "cut-off-holder", all_held),
    "no-times": ("no-times", "long-wait", all_held),
    "dies": ("dies", "renewal-under-way", lambda r: r["exit"] != 0 and not all_held(r)),
    "recreates": ("recreates", "key-gone", lambda r: caused(r, "phantom-extend")),
    "only-first-try": ("only-first-try", "slow-waiter",
                       lambda r: violated(r, "exclusion", "silent-loss") and violated(r, "claims", "silent-loss")),
    "late-timer": ("late-timer", "late-grant-reply", lambda r: violated(r, "exclusion", "silent-loss", "late-loss-report")),
    "cries-lost": ("cries-lost", "slow-waiter", lambda r: violated(r, "claims") and not caused(r, "silent-loss")),
    "never-told": ("never-told", "cut-off-holder", lambda r: violated(r, "exclusion", "silent-loss")),
    "told-late": ("told-late", "cut-off-holder", lambda r: violated(r, "exclusion", "late-loss-report", "silent-loss")),
}


def run(picklock, workdir, case, seed):
    lock, scenario, _ = CASES[case]
    file = HERE / f"{scenario}.toml"
    config = workdir / f"{case}.toml"
    config.write_text(f'[impl.{lock}]\ncommand = "{sys.executable} {HERE / "locks.py"} {lock}"\nrenews = true\n'
                      f'[impl.{lock}.environment]\nPYTHONPATH = "{workdir / "module"}"\nPYTHONDONTWRITEBYTECODE = "1"\n')
    done = subprocess.run([picklock, "scenario", str(file) if file.exists() else scenario, "--config", str(config), "--impl", lock,
                           "--backend", "process", "--seed", str(seed), "--json", "--quiet"],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=workdir)
    if not done.stdout.strip():
        raise SystemExit(f"{case}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return {**json.loads(done.stdout), "exit": done.returncode}


def describe(result):
    verdicts = result["verdicts"]
    parts = [f"{name} {verdicts[name]['status']} {verdicts[name].get('cause', '')}".strip()
             for name in JUDGED if verdicts[name]["status"] not in ("held", "not-applicable")]
    return f"exit {result['exit']}, " + (", ".join(parts) or "all held")


def judge(picklock, workdir, case):
    outcomes = []
    for seed in range(1, SEEDS + 1):
        for attempt in range(3):
            result = run(picklock, workdir, case, seed + 100 * attempt)
            if CASES[case][2](result) or all(v["status"] != "unknown" for v in result["verdicts"].values()):
                break
        outcomes.append((CASES[case][2](result), describe(result)))
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
