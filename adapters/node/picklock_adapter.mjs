// Picklock's adapter protocol, versions 1 and 2, for a lock in Node. Only what comes with Node.
//
// `serve` reads requests from standard input and answers them; docs/protocol.md of Picklock describes
// them. What your lock or its library prints goes to standard error, into the worker's log.

import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const PROTOCOLS = [1, 2];

// Standard output is for the protocol alone.
const toProtocol = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

/** Throw it if certainly nothing has happened: no key was changed. Every other error is reported as
 * one that may have had an effect. */
export class Definite extends Error {}

/** Milliseconds on a monotonic clock. */
export const now = () => performance.now();

/** Calls `attempt` until it returns a grant, `{ token, fence?, askedAt? }`, or `waitMs` is over; with 0,
 * once. For locks that do not wait by themselves. If the grant does not say in `askedAt` when the command
 * that took the lock was sent, by `now`, this function does. Without that, Picklock is not told how long
 * the lease is valid, and bounds it by its own clock. A `signal` ends the wait, and no attempt. */
export async function tryFor(waitMs, attempt, signal) {
  const until = now() + waitMs;
  for (;;) {
    const askedAt = now();
    const grant = await attempt();
    if (grant) return { askedAt, ...grant };
    const pause = 10 + Math.random() * 40;
    if (signal?.aborted || now() + pause >= until) return null;
    // The next attempt, or its end, if it was given up.
    await sleep(pause, undefined, { signal }).catch(() => {});
    if (signal?.aborted) return null;
  }
}

/** For a library that gives an object for each grant. A subclass has `take(key, ttlMs, waitMs)`, which gives
 * such an object with its `token`, or null; and `free(object)`, which gives what `release` does. */
export class LockObjects {
  objects = new Map();

  async acquire(key, ttlMs, waitMs) {
    const object = await this.take(key, ttlMs, waitMs);
    if (!object) return null;
    this.objects.set(object.token, object);
    return { token: object.token, askedAt: object.askedAt };
  }

  async release(key, token) {
    const released = await this.free(this.object(token));
    // Not if that went wrong: the lock may still be held.
    this.objects.delete(token);
    return released;
  }

  // The `finally` of a section that fails.
  sectionFailed(key, token) {
    return this.release(key, token);
  }

  object(token) {
    if (!this.objects.has(token)) throw new Definite(`no grant has the token ${token}`);
    return this.objects.get(token);
  }
}

/** Those that can be held for longer: a subclass also has `prolong(object, ttlMs)`, which gives the object
 * that takes its place, or null. */
export class ExtendableLockObjects extends LockObjects {
  async extend(key, token, ttlMs) {
    const object = await this.prolong(this.object(token), ttlMs);
    if (!object) return null;
    this.objects.set(token, object);
    return { token, askedAt: object.askedAt };
  }
}

/** For a library that holds its lock while a function of ours runs. `run(hold)` calls the library with a
 * function that returns `hold(token)`. Gives an object with `token`, and with `end()`, which lets that
 * function return and waits for the library; or null if the library never called it. */
export function scoped(run) {
  return new Promise((granted, failed) => {
    const inside = (token) =>
      new Promise((leave) => granted({ token, end: () => (leave(), ended) }));
    const ended = run(inside);
    ended.then(() => granted(null), failed);
  });
}

/** Name and version of a package that is installed beside this file. */
export function installed(name) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url)));
}

/** Options of ioredis for a lock: nothing is sent twice, and a node need not be up yet. With the option
 * `command_timeout=none` a command waits as long as it takes, which is ioredis' default. */
export function ioredisOptions(timeoutMs, { command_timeout } = {}) {
  const once = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, lazyConnect: true };
  const limit = command_timeout === "none" ? {} : { commandTimeout: timeoutMs };
  return { ...once, ...limit, connectTimeout: timeoutMs };
}

/** Tells Picklock that a lease is gone: for locks that renew in the background. */
export function lost(token) {
  event({ event: "lost", token });
}

/** Tells Picklock that a background task has renewed a lease: for `ttlMs` since `askedAt`. */
export function extended(token, ttlMs, askedAt) {
  event({ event: "extended", token, valid_ms: leftMs(ttlMs, askedAt) });
}

/** Answers requests until standard input ends, then ends the process.
 *
 * `makeLock(nodes, timeoutMs, options)` returns the lock. `nodes` are URLs as redis://HOST:PORT. The
 * lock has `acquire(key, ttlMs, waitMs)`, a grant or null; `release(key, token)`, true, false, or null
 * if the library does not say; and, if it can, `extend(key, token, ttlMs)`, a grant or null. All of
 * them may return promises. `options` are the names that `--impl-option` may have.
 *
 * With `clients`, many clients share the lock on one event loop: its calls overlap. An `acquire` with a fourth
 * parameter gets an AbortSignal for a client that gives up. A lock with `sectionFailed(key, token)` does there what becomes
 * of it when an error leaves the section, and gives what `release` does. One with `releaseUnheld(key)` does what a
 * `finally` does that unlocks although it was refused. */
export async function serve(makeLock, { name, version = "", options = [], clients = false }) {
  const ready = { reply: "ready", name, version };
  const adapter = { makeLock, ready, options, clients, lock: null, waiting: new Map() };
  for await (const line of createInterface({ input: process.stdin })) {
    const readAt = now();
    let request;
    try {
      request = JSON.parse(line);
    } catch {
      request = null;
    }
    if (typeof request?.id !== "number") {
      console.error(`not a request: ${line}`);
      continue;
    }
    if (request.op === "cancel") adapter.waiting.get(request.of)?.abort();
    else client.run(request.client, reply, adapter, request, readAt);
  }
  // A library's open connections must not keep the process alive.
  process.exit(0);
}

async function reply(adapter, request, readAt) {
  const answer = await answerOrError(adapter, request, readAt);
  adapter.waiting.delete(request.id);
  if (answer.reply === "granted") clientOf.set(answer.token, request.client);
  write({ id: request.id, client: request.client, ...answer });
}

async function answerOrError(adapter, request, readAt) {
  try {
    return await answer(adapter, request, readAt);
  } catch (problem) {
    const definite = problem instanceof Definite;
    if (!definite) console.error(problem);
    return { reply: "error", message: definite ? problem.message : String(problem), definite };
  }
}

async function answer(adapter, request, readAt) {
  const { op, key, token, ttl_ms: ttlMs } = request;
  if (op === "ping") return { reply: "pong" };
  if (op === "init") return init(adapter, request);
  if (op === "join") return { reply: "joined" };
  if (op === "block") {
    // Nothing else is done on this event loop meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, request.for_ms);
    return { reply: "blocked" };
  }
  if (!["acquire", "extend", "release", "release-unheld", "section-failed"].includes(op)) throw new Definite(`unknown op ${op}`);
  const lock = adapter.lock;
  if (lock === null) throw new Definite("`init` must come first");
  // JSON.stringify leaves out what is undefined: a function without a result does not say either.
  if (op === "release") return { reply: "released", released: (await lock.release(key, token)) ?? null };
  if (op === "release-unheld") return { reply: "released", released: (await lock.releaseUnheld(key)) ?? null };
  if (op === "section-failed") return { reply: "released", released: (await lock.sectionFailed(key, token)) ?? null };
  if (op === "acquire") {
    const giveUp = new AbortController();
    adapter.waiting.set(request.id, giveUp);
    const taken = lock.acquire(key, ttlMs, request.wait_ms, giveUp.signal);
    try {
      const grant = await taken;
      return grant || !giveUp.signal.aborted ? granted(grant, ttlMs, readAt) : { reply: "cancelled" };
    } catch (problem) {
      if (giveUp.signal.aborted && problem.name === "AbortError") return { reply: "cancelled" };
      throw problem;
    }
  }
  if (!lock.extend) return { reply: "unsupported" };
  return granted(await lock.extend(key, token, ttlMs), ttlMs, readAt);
}

async function init(adapter, { protocol, protocols, nodes, timeout_ms: timeoutMs, options = {} }) {
  const versions = (protocols ?? [protocol]).filter((version) => PROTOCOLS.includes(version));
  if (versions.length === 0) {
    throw new Definite(`only the versions ${PROTOCOLS} of the protocol are supported`);
  }
  const unknown = Object.keys(options).filter((option) => !adapter.options.includes(option));
  if (unknown.length > 0) {
    throw new Definite(`unknown options ${unknown}; there are [${adapter.options}]`);
  }
  adapter.lock = await adapter.makeLock(nodes, timeoutMs, options);
  const ready = { ...adapter.ready, extends: Boolean(adapter.lock.extend) };
  if (!versions.includes(2)) return ready;
  const cancels = adapter.lock.acquire.length > 3;
  const [fails_sections, releases_unheld] = [adapter.lock.sectionFailed, adapter.lock.releaseUnheld].map(Boolean);
  const offers = { clients: adapter.clients, blocks_loop: true, cancels, fails_sections, releases_unheld };
  return { ...ready, protocol: 2, ...offers };
}

function granted(grant, ttlMs, readAt) {
  if (!grant) return { reply: "refused" };
  const { token, fence, askedAt } = grant;
  // Before `valid_ms`: time that passes between the two must not make the lease longer.
  const elapsed_ms = Math.floor(now() - readAt);
  // JSON.stringify leaves out what is undefined.
  const valid_ms = askedAt === undefined ? undefined : leftMs(ttlMs, askedAt);
  return { reply: "granted", token, fence, elapsed_ms, valid_ms };
}

function leftMs(ttlMs, askedAt) {
  return Math.max(0, Math.floor(ttlMs - (now() - askedAt)));
}

// Whose request is answered, and whose grant a token is: for events of background tasks.
const client = new AsyncLocalStorage();
const clientOf = new Map();

function event(message) {
  write({ ...message, client: clientOf.get(message.token) ?? client.getStore() });
}

function write(message) {
  toProtocol(JSON.stringify(message) + "\n");
}
