// Picklock's adapter protocol, versions 1 and 2, for a lock in Node. Needs no packages.
//
// `serve` reads requests from standard input and answers them; docs/protocol.md of Picklock describes
// them. Output of your lock or its library is redirected to standard error, which goes to the worker's log.

import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const PROTOCOLS = [1, 2];

// Standard output is reserved for the protocol.
const toProtocol = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

/** Throw this if the request certainly had no effect: no key was changed. Every other error is reported as one that may
 * have had an effect. */
export class Definite extends Error {}

/** Milliseconds on a monotonic clock. */
export const now = () => performance.now();

/** Calls `attempt` until it returns a grant, `{ token, fence?, askedAt? }`, or `waitMs` is over; if that is 0, once.
 * For locks that do not wait by themselves. `askedAt` is the time, by `now`, at which the command that took the lock was
 * sent; this function sets it if the grant does not have it. Without it the answer has no `valid_ms`, and Picklock
 * bounds the lease by its own clock. A `signal` ends the wait, but not an attempt. */
export async function tryFor(waitMs, attempt, signal) {
  const until = now() + waitMs;
  for (;;) {
    const askedAt = now();
    const grant = await attempt();
    if (grant) return { askedAt, ...grant };
    const pause = 10 + Math.random() * 40;
    if (signal?.aborted || now() + pause >= until) return null;
    // Then comes the next attempt, or the end if the client has given up.
    await sleep(pause, undefined, { signal }).catch(() => {});
    if (signal?.aborted) return null;
  }
}

/** For a library that returns an object for each grant. A subclass has `take(key, ttlMs, waitMs)`, which returns such
 * an object with its `token`, and its `fence` if it has one, or null; and `free(object)`, which returns the same as `release`. */
export class LockObjects {
  objects = new Map();

  async acquire(key, ttlMs, waitMs) {
    const object = await this.take(key, ttlMs, waitMs);
    if (!object) return null;
    this.objects.set(object.token, object);
    return { token: object.token, fence: object.fence, askedAt: object.askedAt };
  }

  async release(key, token) {
    const released = await this.free(this.object(token));
    // Not reached if `free` failed, because the lock may still be held.
    this.objects.delete(token);
    return released;
  }

  // Called in the `finally` of a failed section.
  sectionFailed(key, token) {
    return this.release(key, token);
  }

  object(token) {
    if (!this.objects.has(token)) throw new Definite(`no grant has the token ${token}`);
    return this.objects.get(token);
  }
}

/** Objects that can be extended. A subclass also has `prolong(object, ttlMs)`, which returns the object that replaces
 * the old one, or null. */
export class ExtendableLockObjects extends LockObjects {
  async extend(key, token, ttlMs) {
    const object = await this.prolong(this.object(token), ttlMs);
    if (!object) return null;
    this.objects.set(token, object);
    return { token, askedAt: object.askedAt };
  }
}

/** For a library that holds its lock while a callback runs. `run(hold)` calls the library with a function that returns
 * `hold(token)`. Returns an object with `token`, and with `end()`, which lets that function return and waits for the
 * library; or null if the library never called it. */
export function scoped(run) {
  return new Promise((granted, failed) => {
    const inside = (token) =>
      new Promise((leave) => granted({ token, end: () => (leave(), ended) }));
    const ended = run(inside);
    ended.then(() => granted(null), failed);
  });
}

/** Returns the name and version of a package that is installed next to this file. */
export function installed(name) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url)));
}

/** Returns ioredis options for a lock: no command is sent twice, and a node need not be up yet. The option
 * `command_timeout` is another limit in milliseconds, or `none`: a command waits without a limit, ioredis' default. */
export function ioredisOptions(timeoutMs, { command_timeout } = {}) {
  const once = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, lazyConnect: true };
  const limit = command_timeout === "none" ? {} : { commandTimeout: Number(command_timeout ?? timeoutMs) };
  return { ...once, ...limit, connectTimeout: timeoutMs };
}

/** Returns a timeout that is a part of the lease, at least 100 ms and at most the time that Picklock suggests. */
export function scaled(ttlMs, part, longestMs) {
  return Math.min(longestMs, Math.max(100, Math.floor(ttlMs / part)));
}

/** Reports to Picklock that a lease is lost. For locks that renew in the background. */
export function lost(token) {
  event({ event: "lost", token });
}

/** Reports to Picklock that a background task has renewed a lease for `ttlMs`, counted from `askedAt`. */
export function extended(token, ttlMs, askedAt) {
  event({ event: "extended", token, valid_ms: leftMs(ttlMs, askedAt) });
}

/** Answers requests until standard input ends, then ends the process.
 *
 * `makeLock(nodes, timeoutMs, options)` returns the lock. `nodes` are URLs such as redis://HOST:PORT. The lock has
 * `acquire(key, ttlMs, waitMs)`, which returns a grant or null; `release(key, token)`, which returns true, false, or
 * null if the library does not report whether the lock was still held; and, if it can, `extend(key, token, ttlMs)`,
 * which returns a grant or null. All of them may return promises. `options` are the names that `--impl-option` may
 * have.
 *
 * With `clients`, many clients share the lock on one event loop: its calls overlap. An `acquire` with a fourth
 * parameter gets an AbortSignal for a client that gives up. A lock may have `sectionFailed(key, token)`, which is
 * called when an error leaves the section and returns the same as `release`, and `releaseUnheld(key)`, which unlocks
 * although the lock was refused, as in a `finally`. A semaphore has `setCapacity(permits)`, which is called before the
 * first `acquire` with the number of permits that it may grant at the same time, and, if one acquisition can take
 * several, `acquirePermits(key, permits, ttlMs, waitMs)`, whose grant covers all of them. A read/write lock has
 * `acquireShared(key, ttlMs, waitMs)`, which lets a reader in; its `acquire` lets a writer in. A leader election has
 * `act(key, token)`, which is called before each act of the leader. It returns its epoch, or true if it has none, and
 * null or false if the client does not lead any more. A lock may have the properties `minHoldMs` (its key stays for up to
 * this time after a release) and `leaseMarginMs` (its key lives this much longer than the lease). `terminate()` is
 * called when the process receives SIGTERM: it cleans up as the program or the library would, and the process then
 * ends. Without it SIGTERM ends the process at once. */
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
    // This blocks the whole event loop.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, request.for_ms);
    return { reply: "blocked" };
  }
  if (!["acquire", "extend", "release", "release-unheld", "section-failed", "act"].includes(op)) throw new Definite(`unknown op ${op}`);
  const lock = adapter.lock;
  if (lock === null) throw new Definite("`init` must come first");
  // A function without a result counts as one that does not report whether the lock was still held.
  if (op === "release") return { reply: "released", released: (await lock.release(key, token)) ?? null };
  if (op === "release-unheld") return { reply: "released", released: (await lock.releaseUnheld(key)) ?? null };
  if (op === "section-failed") return { reply: "released", released: (await lock.sectionFailed(key, token)) ?? null };
  if (op === "act") return acting(await lock.act(key, token));
  if (op === "acquire") {
    const giveUp = new AbortController();
    adapter.waiting.set(request.id, giveUp);
    try {
      const grant = await take(lock, request, giveUp.signal);
      return grant || !giveUp.signal.aborted ? granted(grant, ttlMs, readAt) : { reply: "cancelled" };
    } catch (problem) {
      if (giveUp.signal.aborted && problem.name === "AbortError") return { reply: "cancelled" };
      throw problem;
    }
  }
  if (!lock.extend) return { reply: "unsupported" };
  return granted(await lock.extend(key, token, ttlMs), ttlMs, readAt);
}

function acting(epoch) {
  if (epoch === undefined || epoch === null || epoch === false) return { reply: "refused" };
  return epoch === true ? { reply: "acting" } : { reply: "acting", epoch };
}

/** Takes the lock, some permits of it, or lets a reader in. */
function take(lock, { key, ttl_ms: ttlMs, wait_ms: waitMs, mode, permits }, signal) {
  if (mode === "shared") return lock.acquireShared(key, ttlMs, waitMs, signal);
  if (permits !== undefined) return lock.acquirePermits(key, permits, ttlMs, waitMs, signal);
  return lock.acquire(key, ttlMs, waitMs, signal);
}

async function init(adapter, { protocol, protocols, nodes, timeout_ms: timeoutMs, options = {}, capacity = 1 }) {
  const versions = (protocols ?? [protocol]).filter((version) => PROTOCOLS.includes(version));
  if (versions.length === 0) {
    throw new Definite(`only the versions ${PROTOCOLS} of the protocol are supported`);
  }
  const unknown = Object.keys(options).filter((option) => !adapter.options.includes(option));
  if (unknown.length > 0) {
    throw new Definite(`unknown options ${unknown}; there are [${adapter.options}]`);
  }
  adapter.lock = await adapter.makeLock(nodes, timeoutMs, options);
  if (adapter.lock.terminate) process.once("SIGTERM", () => endAfter(adapter.lock));
  adapter.lock.setCapacity?.(capacity);
  const { minHoldMs: min_hold_ms, leaseMarginMs: lease_margin_ms } = adapter.lock;
  // JSON.stringify omits undefined values.
  const ready = { ...adapter.ready, extends: Boolean(adapter.lock.extend), min_hold_ms, lease_margin_ms };
  if (!versions.includes(2)) return ready;
  const cancels = adapter.lock.acquire.length > 3;
  const [fails_sections, releases_unheld] = [adapter.lock.sectionFailed, adapter.lock.releaseUnheld].map(Boolean);
  const of_kind = { kinds: [kindOf(adapter.lock)], several_permits: Boolean(adapter.lock.acquirePermits) };
  const offers = { clients: adapter.clients, blocks_loop: true, cancels, fails_sections, releases_unheld, ...of_kind };
  return { ...ready, protocol: 2, ...offers };
}

function kindOf(lock) {
  if (lock.setCapacity) return "semaphore";
  if (lock.acquireShared) return "rwlock";
  return lock.act ? "leader" : "mutex";
}

/** Ends the process after the lock's clean-up, with the status that a shell reports for SIGTERM. */
async function endAfter(lock) {
  try {
    await lock.terminate();
  } catch (problem) {
    console.error(problem);
  }
  process.exit(143);
}

function granted(grant, ttlMs, readAt) {
  if (!grant) return { reply: "refused" };
  const { token, fence, askedAt } = grant;
  // Computed before `valid_ms`, so that the time between the two cannot lengthen the lease.
  const elapsed_ms = Math.floor(now() - readAt);
  // JSON.stringify omits undefined values.
  const valid_ms = askedAt === undefined ? undefined : leftMs(ttlMs, askedAt);
  return { reply: "granted", token, fence, elapsed_ms, valid_ms };
}

function leftMs(ttlMs, askedAt) {
  return Math.max(0, Math.floor(ttlMs - (now() - askedAt)));
}

// The client of the current request, and the client of each grant by its token, for events of background tasks.
const client = new AsyncLocalStorage();
const clientOf = new Map();

function event(message) {
  write({ ...message, client: clientOf.get(message.token) ?? client.getStore() });
}

function write(message) {
  toProtocol(JSON.stringify(message) + "\n");
}
