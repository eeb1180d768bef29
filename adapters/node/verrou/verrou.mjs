// Picklock adapter for the Redis driver of @verrou/core, on the first node.
//
// A waiter sleeps for 250 ms between two attempts, the library's default, and looks at its time limit before it sleeps,
// so its wait ends a quarter of a second earlier.
//
// Option: `command_timeout=none` or a number of milliseconds.

import { E_LOCK_NOT_OWNED, LockFactory } from "@verrou/core";
import { RedisStore } from "@verrou/core/drivers/redis";
import Redis from "ioredis";
import { ExtendableLockObjects, installed, ioredisOptions, now, serve } from "./picklock_adapter.mjs";

const RETRY_MS = 250;
const lost = (error) => (error instanceof E_LOCK_NOT_OWNED ? false : Promise.reject(error));

/** The library's store, which also records when it sent the last command of each owner. */
class TimedStore extends RedisStore {
  sentAt = new Map();
  save = (key, owner, ttl) => (this.sentAt.set(owner, now()), super.save(key, owner, ttl));
  extend = (key, owner, ttl) => (this.sentAt.set(owner, now()), super.extend(key, owner, ttl));
  timed = (lock, token = lock.getOwner()) => ({ lock, token, askedAt: this.sentAt.get(token) });
}

class Verrou extends ExtendableLockObjects {
  async take(key, ttlMs, waitMs) {
    const lock = this.factory.createLock(key, ttlMs);
    const retry = waitMs > RETRY_MS ? { timeout: waitMs - RETRY_MS } : { attempts: 1 };
    return (await lock.acquire({ retry })) && this.store.timed(lock);
  }
  prolong = ({ lock }, ttlMs) => lock.extend(ttlMs).then(() => this.store.timed(lock), lost);
  free = ({ lock, token }) => lock.release().then(() => this.store.sentAt.delete(token), lost);
}

function makeLock(nodes, timeoutMs, options) {
  const store = new TimedStore({ connection: new Redis(nodes[0], ioredisOptions(timeoutMs, options)) });
  return Object.assign(new Verrou(), { store, factory: new LockFactory(store) });
}

await serve(makeLock, { ...installed("@verrou/core"), options: ["command_timeout"], clients: true });
