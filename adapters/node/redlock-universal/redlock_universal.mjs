// Picklock adapter for redlock-universal: its simple lock on the first node, its Redlock on several.
//
// The library's commands time out after a sixth of a lease, but not before 100 ms: its defaults are 5 s and, for a
// lease, 30 s. ioredis has its own defaults, and may send a command again.
//
// Options: `mode=using` holds the lock in the library's `using`, which renews it; `timeout=node`: commands time out
// after the time that Picklock suggests, and ioredis sends nothing twice.

import { randomUUID } from "node:crypto";
import Redis from "ioredis";
import { createLock, createRedlock, IoredisAdapter, LockAcquisitionError } from "redlock-universal";
import { Definite, ExtendableLockObjects, installed, ioredisOptions, LockObjects, lost, scoped, serve } from "./picklock_adapter.mjs";

const RETRY_MS = 100;

const taken = (error) => {
  if (!(error instanceof LockAcquisitionError)) throw error;
  return null;
};

class Acquired extends ExtendableLockObjects {
  take = (...wanted) => {
    const lock = this.lock(...wanted);
    return lock.acquire().then((handle) => ({ lock, handle, token: handle.id }), taken);
  };
  prolong = async (held, ttlMs) => (await held.lock.extend(held.handle, ttlMs)) && held;
  free = ({ lock, handle }) => lock.release(handle);
}

class Used extends LockObjects {
  take = (...wanted) => scoped((hold) => this.lock(...wanted).using((signal) => {
    const token = randomUUID();
    signal.addEventListener("abort", () => lost(token));
    return hold(token);
  })).catch(taken);
  // The library returns the callback's result.
  free = (held) => held.end().then(() => null);
}

function makeLock(nodes, timeoutMs, options) {
  const { timeout = "scaled" } = options;
  if (!["scaled", "node"].includes(timeout)) throw new Definite(`timeout is scaled or node, and not ${timeout}`);
  const isScaled = timeout === "scaled";
  let adapters;
  const connect = (ttl) => nodes.map((node) => {
    const limit = isScaled ? Math.min(timeoutMs, Math.max(100, Math.floor(ttl / 6))) : timeoutMs;
    const client = isScaled ? new Redis(node, { lazyConnect: true }).on("error", () => {}) : new Redis(node, ioredisOptions(timeoutMs));
    return new IoredisAdapter(client, isScaled ? { timeout: limit } : { timeout: limit, maxRetries: 0 });
  });
  const lock = (key, ttl, waitMs) => {
    adapters ??= connect(ttl);
    const settings = { key, ttl, retryDelay: RETRY_MS, retryAttempts: Math.floor(waitMs / RETRY_MS) };
    return adapters.length > 1 ? createRedlock({ adapters, ...settings }) : createLock({ adapter: adapters[0], ...settings });
  };
  return Object.assign(options.mode === "using" ? new Used() : new Acquired(), { lock });
}

await serve(makeLock, { ...installed("redlock-universal"), options: ["mode", "timeout"], clients: true });
