// Picklock adapter for redlock 4, on all given nodes.
//
// Option: `command_timeout=none`.

import Redis from "ioredis";
import Redlock from "redlock";
import { ExtendableLockObjects, installed, ioredisOptions, serve } from "./picklock_adapter.mjs";

const named = (lock) => Object.assign(lock, { token: lock.value });

class Redlock4 extends ExtendableLockObjects {
  take = (key, ttlMs, waitMs) => this.taken(this.redlock(waitMs).lock(key, ttlMs).then(named));
  prolong = (lock, ttlMs) => this.taken(lock.extend(ttlMs).then(named));
  // The library returns nothing, even if the lock had expired.
  free = (lock) => this.taken(lock.unlock().then(() => null), false);

  /** The library has one number of attempts for all of its locks, with 100 to 300 ms between two of them. */
  redlock(waitMs) {
    const redlock = new Redlock(this.clients, { retryCount: Math.floor(waitMs / 300) });
    return redlock.on("clientError", (error) => this.failures.push(error));
  }

  /** The library throws the same error for a lock that is taken or expired and for nodes that do not answer; it reports
   * the latter in an earlier event. */
  taken(outcome, answer = null) {
    this.failures = [];
    return outcome.catch((error) => {
      if (error.name !== "LockError" || this.failures.length > 0) throw error;
      return answer;
    });
  }
}

function makeLock(nodes, timeoutMs, options) {
  const clients = nodes.map((node) => new Redis(node, ioredisOptions(timeoutMs, options)));
  return Object.assign(new Redlock4(), { clients });
}

await serve(makeLock, { ...installed("redlock"), options: ["command_timeout"] });
