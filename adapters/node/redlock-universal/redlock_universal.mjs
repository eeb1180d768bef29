// Picklock adapter for redlock-universal: its simple lock on the first node, its Redlock on several.
//
// Options: `mode=using` holds the lock in the library's `using`, which renews it; `command_timeout=none`.

import { randomUUID } from "node:crypto";
import Redis from "ioredis";
import { createLock, createRedlock, IoredisAdapter, LockAcquisitionError } from "redlock-universal";
import { ExtendableLockObjects, installed, ioredisOptions, LockObjects, lost, scoped, serve } from "./picklock_adapter.mjs";

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
  const limits = { timeout: timeoutMs, maxRetries: 0 };
  const adapters = nodes.map((node) => new IoredisAdapter(new Redis(node, ioredisOptions(timeoutMs, options)), limits));
  const lock = (key, ttl, waitMs) => {
    const settings = { key, ttl, retryDelay: RETRY_MS, retryAttempts: Math.floor(waitMs / RETRY_MS) };
    return adapters.length > 1 ? createRedlock({ adapters, ...settings }) : createLock({ adapter: adapters[0], ...settings });
  };
  return Object.assign(options.mode === "using" ? new Used() : new Acquired(), { lock });
}

await serve(makeLock, { ...installed("redlock-universal"), options: ["mode", "command_timeout"] });
