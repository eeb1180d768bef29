// Picklock's adapter protocol, versions 1 and 2, for a lock in Node. Only what comes with Node.
//
// `serve` reads requests from standard input and answers them; docs/protocol.md of Picklock describes
// them. What your lock or its library prints goes to standard error, into the worker's log.

import { AsyncLocalStorage } from "node:async_hooks";
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
 * parameter gets an AbortSignal for a client that gives up. */
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
  if (!["acquire", "extend", "release"].includes(op)) throw new Definite(`unknown op ${op}`);
  const lock = adapter.lock;
  if (lock === null) throw new Definite("`init` must come first");
  if (op === "release") return { reply: "released", released: await lock.release(key, token) };
  if (op === "acquire") {
    const giveUp = new AbortController();
    adapter.waiting.set(request.id, giveUp);
    const taken = lock.acquire(key, ttlMs, request.wait_ms, giveUp.signal);
    try {
      const grant = await taken;
      return grant || !giveUp.signal.aborted ? granted(grant, ttlMs, readAt) : { reply: "cancelled" };
    } catch (problem) {
      if (problem.name === "AbortError") return { reply: "cancelled" };
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
  return { ...ready, protocol: 2, clients: adapter.clients, blocks_loop: true, cancels };
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
