// Finds and starts the engine, the program `picklock`.

import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";

export const VERSION = JSON.parse(readFileSync(new URL("package.json", import.meta.url))).version;

// Milliseconds that an interrupted engine has to end its servers and workers.
const PATIENCE_MS = 15_000;

// Asks the engine to end when its standard input is closed, which happens even if this process is killed.
const END_WITH_STDIN = { PICKLOCK_END_WITH_STDIN: "1" };

// Exit code of an engine that cannot start a run, because of what is installed.
const ENVIRONMENT = 4;

/** The run could not take place: no engine, no Redis, a lock that does not load. */
export class PicklockError extends Error {
  name = "PicklockError";
}

/** Returns the path of the engine: PICKLOCK_BINARY, else that of the platform's package, else that on the PATH. */
export function binary() {
  const given = process.env.PICKLOCK_BINARY;
  if (given) {
    if (!isProgram(given)) throw new PicklockError(`PICKLOCK_BINARY: ${given} is not a program`);
    return given;
  }
  const platform = `picklock-${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url).resolve(`${platform}/bin/picklock`);
  } catch {
    const found = onPath();
    if (found) return found;
  }
  throw new PicklockError(
    `the package ${platform} is not installed; install it without --omit=optional, set PICKLOCK_BINARY to the program, ` +
      "or, on Windows, use WSL or the container",
  );
}

export function onPath() {
  // The command of this package only starts the engine again.
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder && !folder.includes("node_modules"));
  return folders.map((folder) => join(folder, "picklock")).find(isProgram);
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

let checked = null;

/** Returns the path of the engine, after checking its version. */
export function engine() {
  const path = binary();
  if (checked === path) return path;
  const { error, stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
  if (error) throw new PicklockError(`cannot start the engine ${path}: ${error.message}; it may be for another platform`);
  if (stdout.trim() !== `picklock ${VERSION}`) {
    throw new PicklockError(
      `the engine ${path} is \`${stdout.trim()}\`, but this package needs version ${VERSION}; ` +
        "install the same version of both, or unset PICKLOCK_BINARY",
    );
  }
  return (checked = path);
}

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGINT")));

/** Starts `picklock proxy`, and returns the process and the line with its addresses. It ends with this process. */
export async function startService(words) {
  const child = spawn(engine(), words, { stdio: ["pipe", "pipe", "pipe"] });
  running.add(child);
  child.on("close", () => running.delete(child));
  const errors = [];
  child.stderr.on("data", (chunk) => errors.push(chunk));
  const line = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.stdout.once("data", (chunk) => resolve(chunk.toString("utf8")));
    child.on("close", (code) => reject(new PicklockError(message(Buffer.concat(errors).toString("utf8")) || `exit code ${code}`)));
  });
  return { child, line };
}

/** Runs the engine. Returns its exit code, standard output and standard error. A signal ends the run. */
export function call(words, signal) {
  return new Promise((resolve, reject) => {
    const child = spawn(engine(), words, { stdio: "pipe", env: { ...process.env, ...END_WITH_STDIN } });
    running.add(child);
    let kill;
    const end = () => {
      child.kill("SIGINT");
      kill = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    };
    if (signal?.aborted) end();
    signal?.addEventListener("abort", end);
    const texts = [child.stdout, child.stderr].map((stream) => {
      const chunks = [];
      stream.on("data", (chunk) => chunks.push(chunk));
      return () => Buffer.concat(chunks).toString("utf8");
    });
    child.on("error", reject);
    child.on("close", (code) => {
      running.delete(child);
      clearTimeout(kill);
      signal?.removeEventListener("abort", end);
      const [out, err] = texts.map((text) => text());
      resolve({ code, out, err });
    });
  });
}

// Requested backends with which no run can take place, for example without Redis.
const unavailable = new Set();

/** Runs a scenario, and returns its document. If the engine can run nothing, the next runs fail at once. */
export async function runDocument(backend, words, signal) {
  if (unavailable.has(backend)) throw new PicklockError(`no run can take place with the backend ${backend}: the first failed test has the reason`);
  const result = await call(words, signal);
  if (signal?.aborted) throw new PicklockError("the test was ended, probably by its time limit");
  if (result.code === ENVIRONMENT && !result.out.trim()) unavailable.add(backend);
  return parsed(result);
}

function parsed({ code, out, err }) {
  if (code === 130) throw new PicklockError("the run was interrupted");
  if (code === 2 || !out.trim()) throw new PicklockError(message(err) || `the engine ended with exit code ${code}`);
  return JSON.parse(out);
}

// Returns the message of the engine without its prefix, and without the lines about progress.
function message(text) {
  const lines = text.trim().split("\n");
  const first = lines.findIndex((line) => /^(picklock|error): /.test(line));
  return lines.slice(Math.max(first, 0)).join("\n").replace("picklock: ", "");
}

/** Returns the built-in lock that a lock of this kind is compared with by default. */
export function standard({ kind = "mutex", nodes = 1 }) {
  if (kind !== "mutex") return kind;
  return nodes === 1 ? "set-nx-px" : "redlock";
}

/** Returns the names of the scenarios of a selection. A profile has those that suit the reference lock. */
export function scenarioNames({ names, profile = "quick", reference }) {
  const selected = names ? names.flatMap((name) => ["--scenario", name]) : ["--profile", profile];
  const words = ["matrix", "--backend", "sim", "--impl", reference, "--json", "--quiet", ...selected];
  const { status, stdout, stderr } = spawnSync(engine(), words, { encoding: "utf8", maxBuffer: 1 << 28 });
  return parsed({ code: status, out: stdout, err: stderr }).cells.map((cell) => cell.scenario);
}
