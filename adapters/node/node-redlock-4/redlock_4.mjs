// Picklock adapter for redlock 4, on all given nodes.
//
// Option: `command_timeout=none`.

import Redis from "ioredis";
import Redlock from "redlock";
import { ExtendableLockObjects, installed, ioredisOptions, serve } from "./picklock_adapter.mjs";

const named = (lock) => Object.assign(lock, { token: lock.value });

class Redlock4 extends ExtendableLockObjects {
  take = (key, ttlMs, waitMs) => {
    const redlock = this.redlock(waitMs);
    return taken(redlock, () => redlock.lock(key, ttlMs).then(named));
  };
  prolong = (lock, ttlMs) => taken(lock.redlock, () => lock.extend(ttlMs).then(named));
  // The library returns nothing, even if the lock had expired.
  free = (lock) => taken(lock.redlock, () => lock.unlock().then(() => null), false);

  /** The library has one number of attempts for all of its locks, with 100 to 300 ms between two of them. */
  redlock(waitMs) {
    const redlock = new Redlock(this.clients, { retryCount: Math.floor(waitMs / 300) });
    redlock.failures = [];
    return redlock.on("clientError", (error) => redlock.failures.push(error));
  }
}

/** The library throws the same error for a lock that is taken or expired and for nodes that do not answer; it reports
 * the latter in an earlier event of the same object, which serves one lock. */
function taken(redlock, request, answer = null) {
  redlock.failures.length = 0;
  return request().catch((error) => {
    if (error.name !== "LockError" || redlock.failures.length > 0) throw error;
    return answer;
  });
}

function makeLock(nodes, timeoutMs, options) {
  const clients = nodes.map((node) => new Redis(node, ioredisOptions(timeoutMs, options)));
  return Object.assign(new Redlock4(), { clients });
}

await serve(makeLock, { ...installed("redlock"), options: ["command_timeout"], clients: true });
