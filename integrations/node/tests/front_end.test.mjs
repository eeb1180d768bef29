// Tests of the installed package. They start the engine, and need a Redis server.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Inconclusive, NotApplicable, run, scenarios, Violation } from "picklock";

const folder = () => realpathSync(mkdtempSync(join(tmpdir(), "picklock-node-")));
const lock = (name) => new URL(`locks/${name}.mjs`, import.meta.url);
const settings = () => ({ backend: "process", out: folder() });

function scenariosIn(environment) {
  const line = 'import("picklock").then(({ scenarios }) => scenarios(() => {}, "x.mjs", { scenarios: ["calm"] }))';
  const options = { env: { ...process.env, ...environment }, cwd: fileURLToPath(new URL(".", import.meta.url)) };
  return spawnSync(process.execPath, ["--eval", line], { ...options, encoding: "utf8" }).stderr;
}

test("missing binary is an error", () => {
  assert.match(scenariosIn({ PICKLOCK_BINARY: "/nowhere/picklock" }), /\/nowhere\/picklock is not a program/);
});

test("binary of another version is an error", () => {
  const other = join(folder(), "picklock");
  writeFileSync(other, "#!/bin/sh\necho picklock 9.9.9\n");
  chmodSync(other, 0o755);
  assert.match(scenariosIn({ PICKLOCK_BINARY: other }), /is `picklock 9\.9\.9`, but this package needs version/);
});

test("profile names its scenarios", () => {
  const titles = [];
  scenarios((title) => titles.push(title), lock("chatty"));
  for (const title of ["chatty: calm", "chatty: gc-pause"]) assert.ok(titles.includes(title), String(titles));
});

test("unknown scenario is an error", () => {
  assert.throws(() => scenarios(() => {}, lock("chatty"), { scenarios: ["no-such-scenario"] }), /no-such-scenario/);
});

test("missing file of the lock is an error", async () => {
  await assert.rejects(run("nowhere.mjs", "calm", settings()), /nowhere\.mjs: no such file/);
});

test("module without a default export is in the error", async () => {
  await assert.rejects(run(lock("empty"), "calm", settings()), /has no default export that is a class/);
});

test("failing constructor is in the error", async () => {
  await assert.rejects(run(lock("failing_constructor"), "calm", settings()), /no such setting/);
});

test("passing lock that throws when taken gets a diagnostic", async () => {
  const shown = [];
  const context = { diagnostic: (text) => shown.push(text) };
  const bodies = [];
  scenarios((_title, _options, body) => bodies.push(body), lock("throwing_when_taken"), { scenarios: ["calm"], ...settings() });
  await bodies[0](context);
  assert.match(shown.join(), /warning: .*acquire requests failed although no fault .*null/);
});

test("violation explains itself, and repeats from its line", async () => {
  const problem = await run(lock("chatty"), "calm", settings()).catch((error) => error);
  assert.ok(problem instanceof Violation, String(problem));
  for (const part of ["The lock's fault:", "Remedy: ", "The reference lock set-nx-px would keep: exclusion", "a line of the library", "saved run"]) {
    assert.ok(problem.message.includes(part), `no \`${part}\` in ${problem.message}`);
  }
  assert.ok(existsSync(fileURLToPath(problem.message.match(/timeline +(\S+)/)[1])));
  // Other verdicts of this lock depend on a race, so the repetition may differ in them.
  const repeated = spawnSync("sh", ["-c", problem.message.match(/repeat +(.+)/)[1]], { encoding: "utf8" });
  assert.match(repeated.stdout, /✘ exclusion/, repeated.stderr);
});

test("expectation accepts a known violation", async () => {
  const verdicts = await run(lock("chatty"), "calm", { ...settings(), expect: { exclusion: "violated" } });
  assert.equal(verdicts.exclusion, "violated");
});

test("semaphore is compared with a semaphore", async () => {
  const verdicts = await run(lock("counter"), "permits", { ...settings(), kind: "semaphore" });
  assert.equal(verdicts.exclusion, "held");
  const titles = [];
  scenarios((title) => titles.push(title), lock("counter"), { kind: "semaphore" });
  assert.ok(titles.includes("counter: permits-pause") && !titles.includes("counter: gc-pause"), String(titles));
});

test("leader that does not look is a violation", async () => {
  await assert.rejects(run(lock("trustful_leader"), "leader-pause", { ...settings(), kind: "leader" }), (problem) => {
    return problem instanceof Violation && problem.message.includes("The reference lock leader would keep: exclusion");
  });
});

test("feature that is not offered is not applicable", async () => {
  await assert.rejects(run(lock("chatty"), "reentrant", settings()), NotApplicable);
});

test("lock that does not use the servers is inconclusive", async () => {
  await assert.rejects(run(lock("idle"), "calm", settings()), (problem) => {
    return problem instanceof Inconclusive && /does not use the servers/.test(problem.message);
  });
});

test("timers and processes of a lock are ended", async () => {
  // A lock that no client gets: the run ends only after thirty leases.
  await assert.rejects(run(lock("leaves_timers"), "calm", { ...settings(), ttl: "500ms" }), Violation);
  assert.deepEqual(workers(), []);
  assert.deepEqual(children(), []);
});

test("aborted run leaves no process", async () => {
  const abort = new AbortController();
  const { out } = settings();
  const ended = run(lock("chatty"), "gc-pause", { backend: "process", out, signal: abort.signal }).catch((error) => error);
  while (workers().length === 0) await sleep(50);
  abort.abort();
  assert.match(String(await ended), /the test was ended/);
  assert.deepEqual(workers(), []);
});

// Returns the workers of this directory.
const workers = () => processes((words) => words.some((word) => word.endsWith("picklock/worker.mjs")));

// Returns the processes that the lock `leaves_timers` starts.
const children = () => processes((words) => words.join(" ").startsWith("sleep 599"));

function processes(isMeant) {
  return readdirSync("/proc").filter((entry) => {
    try {
      const words = readFileSync(`/proc/${entry}/cmdline`, "utf8").split("\0");
      return isMeant(words) && readlinkSync(`/proc/${entry}/cwd`) === process.cwd();
    } catch {
      return false;
    }
  });
}
