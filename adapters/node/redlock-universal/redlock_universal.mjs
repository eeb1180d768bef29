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
import { ExtendableLockObjects, installed, ioredisOptions, LockObjects, lost, scaled, scoped, serve } from "./picklock_adapter.mjs";

const RETRY_MS = 100;
const taken = (error) => (error instanceof LockAcquisitionError ? null : Promise.reject(error));

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

function makeLock(nodes, timeoutMs, { mode, timeout }) {
  let adapters;
  const connect = (ttl) => nodes.map((node) => timeout === "node"
    ? new IoredisAdapter(new Redis(node, ioredisOptions(timeoutMs)), { timeout: timeoutMs, maxRetries: 0 })
    : new IoredisAdapter(new Redis(node, { lazyConnect: true }).on("error", () => {}), { timeout: scaled(ttl, 6, timeoutMs) }));
  const lock = (key, ttl, waitMs) => {
    adapters ??= connect(ttl);
    const settings = { key, ttl, retryDelay: RETRY_MS, retryAttempts: Math.floor(waitMs / RETRY_MS) };
    return adapters.length > 1 ? createRedlock({ adapters, ...settings }) : createLock({ adapter: adapters[0], ...settings });
  };
  return Object.assign(mode === "using" ? new Used() : new Acquired(), { lock });
}

await serve(makeLock, { ...installed("redlock-universal"), options: ["mode", "timeout"], clients: true });
