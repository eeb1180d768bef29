// Tests a distributed lock on Redis from node:test, Vitest or Jest.

import { scenarioNames, standard } from "./engine.mjs";
import { Inconclusive, NotApplicable, runWithWarnings } from "./run.mjs";

export { PicklockError } from "./engine.mjs";
export { startProxy } from "./proxy.mjs";
export { Inconclusive, NotApplicable, run, Violation } from "./run.mjs";

// Milliseconds that a test may take. A run ends by itself long before.
const TEST_LIMIT_MS = 180_000;

/** Defines one test per scenario with the `test` of the framework. */
export function scenarios(test, lock, settings = {}) {
  const { scenarios: names, profile, unknown = "fail", ...rest } = settings;
  if (!["fail", "skip"].includes(unknown)) throw new TypeError(`unknown: expected fail or skip, got ${unknown}`);
  const isNodeTest = !process.env.VITEST && !process.env.JEST_WORKER_ID;
  const reference = rest.reference ?? standard(rest);
  for (const name of scenarioNames({ names, profile, reference })) {
    const body = async (context) => {
      try {
        const { warnings } = await runWithWarnings(lock, name, { signal: context?.signal, ...rest });
        for (const warning of warnings) warn(context, warning);
      } catch (problem) {
        const isSkipped = problem instanceof NotApplicable || (problem instanceof Inconclusive && unknown === "skip");
        if (!isSkipped) throw problem;
        skip(context, problem.message);
      }
    };
    const title = `${lockName(lock)}: ${name}`;
    if (isNodeTest) test(title, { timeout: TEST_LIMIT_MS }, body);
    else test(title, process.env.VITEST ? body : () => body(), TEST_LIMIT_MS);
  }
}

function warn(context, warning) {
  // Only node:test prints the diagnostics of a test that passed.
  if (typeof context?.diagnostic === "function") context.diagnostic(`warning: ${warning}`);
  else console.warn(`warning: ${warning}`);
}

function skip(context, reason) {
  // Jest cannot skip a test that has begun.
  if (typeof context?.skip === "function") context.skip(reason);
  else console.warn(`skipped: ${reason}`);
}

function lockName(lock) {
  return decodeURIComponent(String(lock)).split(/[/\\]/).pop().replace(/\.\w+$/, "");
}
