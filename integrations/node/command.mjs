#!/usr/bin/env node
// The command `picklock` of this package: starts the engine.

import { spawnSync } from "node:child_process";
import { constants } from "node:os";
import { binary } from "./engine.mjs";

try {
  // The engine receives the terminal's signals itself.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});
  const { error, status, signal } = spawnSync(binary(), process.argv.slice(2), { stdio: "inherit" });
  if (error) throw error;
  process.exitCode = status ?? 128 + constants.signals[signal];
} catch (problem) {
  console.error(`picklock: ${problem.message}`);
  process.exitCode = 4;
}
