// Picklock adapter for redlock 5 and for its fork @sesamecare-oss/redlock, on all given nodes.
//
// Options: `mode=using` holds the lock in the library's `using`, which renews it; `command_timeout=none` or a number of
// milliseconds; `retry_count` is that of the constructor (the library's default: 10), with which redlock 5 extends.

import { randomUUID } from "node:crypto";
import Redis from "ioredis";
import * as library from "redlock";
import { ExtendableLockObjects, installed, ioredisOptions, LockObjects, lost, scoped, serve } from "./picklock_adapter.mjs";

const Redlock = library.Redlock ?? library.default;

/** The library throws the same error for a lock that is taken or expired and for nodes that do not answer. */
async function taken(error) {
  const last = (await Promise.all(error.attempts ?? [Promise.reject(error)])).at(-1);
  const reasons = [...(last?.votesAgainst.values() ?? [])];
  if (!reasons.every((reason) => reason instanceof library.ResourceLockedError)) throw error;
  return null;
}

class Acquired extends ExtendableLockObjects {
  take = (key, ttlMs, waitMs) => this.redlock.acquire([key], ttlMs, tries(waitMs)).then(named, taken);
  prolong = (lock, ttlMs) => lock.extend(ttlMs).then(named, taken);
  free = (lock) => lock.release().then(() => true, async (error) => Boolean(await taken(error)));
}

class Used extends LockObjects {
  take = (key, ttlMs, waitMs) => scoped((hold) => this.redlock.using([key], ttlMs, triesAndExtensions(waitMs), (signal) => {
    const token = randomUUID();
    signal.addEventListener("abort", () => lost(token));
    return hold(token);
  })).catch(taken);
  free = (lock) => lock.end().then(() => true, async (error) => Boolean(await taken(error)));
}

const named = (lock) => Object.assign(lock, { token: lock.value });
// The library waits for 100 to 300 ms between two attempts.
const tries = (waitMs) => ({ retryCount: Math.floor(waitMs / 300) });
// The fork extends with the settings of `using`, so they have no more than the library's default of ten retries.
const triesAndExtensions = (waitMs) => ({ retryCount: Math.min(10, tries(waitMs).retryCount) });

function makeLock(nodes, timeoutMs, options) {
  const clients = nodes.map((node) => new Redis(node, ioredisOptions(timeoutMs, options)));
  const settings = options.retry_count === undefined ? {} : { retryCount: Number(options.retry_count) };
  const redlock = new Redlock(clients, settings).on("error", () => {});
  return Object.assign(options.mode === "using" ? new Used() : new Acquired(), { redlock });
}

await serve(makeLock, { ...installed("redlock"), options: ["mode", "command_timeout", "retry_count"], clients: true });
