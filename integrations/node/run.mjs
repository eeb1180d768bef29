// Runs a lock through a scenario, and explains a failure.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { call, engine, onPath, PicklockError, runDocument, standard } from "./engine.mjs";
import { missing } from "./features.mjs";

// Maximum number of lines of each worker's output in a failure.
const LAST_LINES = 8;

/** The lock did not keep what the reference or the test requires. */
export class Violation extends Error {
  name = "Violation";

  constructor(text, verdicts) {
    super(text);
    this.verdicts = verdicts;
    // The lines of this package would hide the explanation.
    this.stack = text;
  }
}

/** The run was inconclusive. */
export class Inconclusive extends PicklockError {
  name = "Inconclusive";
}

/** The lock does not offer what the scenario needs. */
export class NotApplicable extends PicklockError {
  name = "NotApplicable";
}

/** Runs a lock through a scenario, and returns the status of each property. Warnings are warnings of the process. */
export async function run(lock, scenario, settings = {}) {
  const { statuses, warnings } = await runWithWarnings(lock, scenario, settings);
  for (const warning of warnings) process.emitWarning(warning, "PicklockWarning");
  return statuses;
}

/** Runs a lock through a scenario, and returns the status of each property and the warnings. */
export async function runWithWarnings(lock, scenario, settings = {}) {
  const { nodes = 1, kind = "mutex", expect, backend = "auto", seed = 1, ttl, options = {}, out = ".picklock", signal } = settings;
  const reference = expect ? null : (settings.reference ?? standard(settings));
  const file = String(lock).startsWith("file:") ? fileURLToPath(lock) : resolve(String(lock));
  if (!existsSync(file)) throw new PicklockError(`${file}: no such file; a lock is the default export of a module`);
  const name = fileName(basename(file).replace(/\.\w+$/, ""));
  const directory = resolve(out, name, fileName(scenario));
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(out, ".gitignore"), "*\n");
  const configuration = join(directory, "picklock.toml");
  writeFileSync(configuration, table(name, file, { nodes, kind, options }));
  const words = ["matrix", "--config", configuration, "--impl", name, "--scenario", scenario, "--seed", String(seed)];
  words.push("--backend", backend, "--json", "--quiet", "--out", join(directory, "runs"));
  if (reference) words.push("--reference", reference);
  if (ttl) words.push("--ttl", ttl);
  const [cell] = (await runDocument(backend, words, signal)).cells;
  if (cell.run_dir) {
    renameSync(join(directory, "runs", cell.run_dir), join(directory, "run"));
    rmSync(join(directory, "runs"), { recursive: true });
  }
  const title = `${name} in ${scenario}`;
  await judge({ title, cell, reference, expect, directory });
  rmSync(directory, { recursive: true, force: true });
  const statuses = Object.fromEntries(Object.entries(cell.verdicts).map(([property, verdict]) => [property, verdict.status]));
  return { statuses, warnings: warningsOf(cell).map((text) => `${title}: ${text}`) };
}

// Returns the facts about the lock that no property judges.
function warningsOf({ warnings = [] }) {
  return warnings.map(({ text }) => text);
}

async function judge({ title, cell, reference, expect, directory }) {
  const { verdicts } = cell;
  if (cell.error) throw new PicklockError([`${title} did not run: ${cell.error}`, ...workerOutput(directory)].join("\n"));
  const properties = Object.keys(verdicts);
  if (properties.every((property) => verdicts[property].status === "not-applicable")) {
    throw new NotApplicable(`${title} is not applicable: ${missing(verdicts)}`);
  }
  const absent = Object.keys(expect ?? {}).filter((property) => !properties.includes(property));
  if (absent.length > 0) throw new PicklockError(`${absent.join(", ")}: no such property; there are ${properties.join(", ")}`);
  const wrong = expect
    ? Object.entries(expect).filter(([property, wanted]) => verdicts[property].status !== wanted)
    : cell.mismatches.map(({ property, expected }) => [property, expected]);
  const isUnknown = (property) => verdicts[property].status === "unknown";
  const failed = wrong.filter(([property]) => !isUnknown(property));
  const unknown = (expect ? wrong.map(([property]) => property) : properties).filter(isUnknown);
  if (failed.length > 0) throw new Violation(await failure({ title, cell, failed, reference, directory }), verdicts);
  if (unknown.length > 0) {
    const because = `${title} cannot be judged: ${unknown.join(", ")} unknown: ${reason(verdicts)}`;
    const advice = unknown.some((property) => isDueToTheLock(verdicts[property]))
      ? []
      : ['On a busy machine, run fewer tests at a time, or skip such tests: unknown: "skip".'];
    const warnings = warningsOf(cell).map((text) => `Warning: ${text}.`);
    throw new Inconclusive([because, ...advice, ...warnings, ...workerOutput(directory), "", await places(directory, cell)].join("\n"));
  }
}

// Returns true if a property is unknown because the lock uses other servers than its nodes, or because it was never
// granted. A less busy machine does not help then.
function isDueToTheLock({ reasons = [] }) {
  return reasons.some(({ kind, granted }) => kind === "other-servers" || (kind === "too-few-grants" && granted === 0));
}

async function failure({ title, cell, failed, reference, directory }) {
  const { verdicts, expected } = cell;
  const found = failed.map(([property, wanted]) => `${property} is ${described(verdicts[property])}, expected ${wanted}`);
  const shared = Object.keys(reference ? expected : {}).filter(
    (property) => expected[property] === "any" && verdicts[property].status === "violated",
  );
  const counted = failed.map(([property]) => verdicts[property].cause);
  const uncounted = new Set(shared.map((property) => verdicts[property].cause).filter((cause) => cause && !counted.includes(cause)));
  const [first, ...rest] = await story(join(directory, "run"), uncounted);
  const lines = [`${title}: ${first}`, ...rest, ...workerOutput(directory), "", found.join("; ")];
  if (reference) {
    lines.push(`The reference lock ${reference} would keep: ${failed.map(([property]) => property).join(", ")}.`);
    if (shared.length > 0) lines.push(`The reference lock does not keep these either, so they are not counted: ${shared.join(", ")}.`);
  }
  lines.push("", await places(directory, cell));
  return lines.join("\n");
}

function described({ status, cause }) {
  return cause ? `${status} (${cause})` : status;
}

function reason(verdicts) {
  const unknown = Object.values(verdicts).filter(({ status }) => status === "unknown");
  return [...new Set(unknown.flatMap(({ story = [] }) => story))].join("; ") || "no reason is given";
}

// Returns the answer in the engine's report: what happened, whose fault it was, the remedy, and the deciding lines. It is
// the paragraph that begins with a mark, after the title. Without a violation it is the whole report. Violations with an
// uncounted cause are marked.
async function story(runDirectory, uncountedCauses) {
  const report = (await call(["check", runDirectory])).out;
  let answer = report.split("\n\n").slice(1).find((part) => part.startsWith("✘ ")) ?? report;
  for (const cause of uncountedCauses) {
    const remedy = new RegExp(`\\n(  (?:Remedy:[^✘]*?\\()?picklock\\s+explain\\s+${cause}[)\\s])`);
    answer = answer.replace(remedy, "\n  Not counted: the reference lock fails here too.\n$1");
  }
  return answer.trimEnd().replaceAll("(picklock explain", `(${command()} explain`).split("\n");
}

// Returns how the user can start the engine.
function command() {
  return onPath() ? "picklock" : existsSync("node_modules/.bin/picklock") ? "npx picklock" : engine();
}

function workerOutput(directory) {
  const logs = readdirSync(directory, { recursive: true }).filter((file) => /worker-\d+\.log$/.test(file)).sort();
  const texts = new Map();
  for (const log of logs) {
    const text = readFileSync(join(directory, log), "utf8").trim();
    if (text && !texts.has(text)) texts.set(text, basename(log, ".log").replace("worker-", "client "));
  }
  return [...texts].flatMap(([text, client]) => [
    "",
    `Output of ${client}:`,
    ...lastLines(text.split("\n")).map((line) => `  ${line}`),
  ]);
}

// Returns the last lines of a worker's output. If they begin within a stack trace, the first is its error.
function lastLines(all) {
  const [first, ...rest] = all.slice(-LAST_LINES);
  const isFrame = (line) => /^\s*at /.test(line);
  const heading = isFrame(first) && all.slice(0, -LAST_LINES).findLast((line) => !isFrame(line));
  return [heading || first, ...rest];
}

async function places(directory, cell) {
  const saved = join(directory, "run");
  await call(["report", saved, "--format", "html", "--out", directory]);
  const path = relative(process.cwd(), saved);
  const page = pathToFileURL(join(directory, "report.html"));
  const repeat = `${command()} replay ${quoted(path)} --trust`;
  return [`backend    ${cell.backend}`, `saved run  ${path}`, `timeline   ${page}`, `repeat     ${repeat}`].join("\n");
}

// Returns the table that defines the lock for the engine: how its worker is started.
function table(name, file, { nodes, kind, options }) {
  const worker = fileURLToPath(new URL("worker.mjs", import.meta.url));
  const command = [process.execPath, worker, file].map(quoted).join(" ");
  const lines = [`[impl.${JSON.stringify(name)}]`, `command = ${JSON.stringify(command)}`, `nodes = ${nodes}`, `kind = ${JSON.stringify(kind)}`];
  lines.push(`directory = ${JSON.stringify(process.cwd())}`);
  // A worker is not a test, although a test starts it.
  lines.push('environment = { NODE_TEST_CONTEXT = "" }');
  const pairs = Object.entries(options).map(([key, value]) => `${JSON.stringify(key)} = ${JSON.stringify(String(value))}`);
  if (pairs.length > 0) lines.push(`options = { ${pairs.join(", ")} }`);
  return `${lines.join("\n")}\n`;
}

function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function fileName(text) {
  return text.replace(/[^A-Za-z0-9._-]/g, "_");
}
