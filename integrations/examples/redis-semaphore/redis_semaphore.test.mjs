// The findings are those of lab/pages/findings.md.

import { test } from "node:test";
import { run, scenarios } from "picklock";

const lock = new URL("redis_semaphore.mjs", import.meta.url);

scenarios(test, lock, { scenarios: ["calm", "slow-section", "stale-delete"] });

test("frozen holder outlives its lease", { timeout: 180_000 }, () =>
  run(lock, "gc-pause", { expect: { exclusion: "violated", lease: "held" } }));
