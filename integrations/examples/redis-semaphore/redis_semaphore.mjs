import Redis from "ioredis";
import { lost } from "picklock/adapter";
import { Mutex } from "redis-semaphore";

/** The mutex of redis-semaphore 5.8.0, which renews at eight tenths of a lease. */
export default class RedisSemaphore {
  held = new Map();

  constructor(nodes, timeoutMs) {
    this.redis = new Redis(nodes[0], { commandTimeout: timeoutMs, maxRetriesPerRequest: 0, lazyConnect: true });
  }

  async acquire(key, ttlMs, waitMs) {
    const waiting = waitMs ? { acquireTimeout: waitMs } : { acquireAttemptsLimit: 1 };
    const onLockLost = () => lost(mutex.identifier);
    const mutex = new Mutex(this.redis, key, { lockTimeout: ttlMs, onLockLost, ...waiting });
    if (!(await mutex.tryAcquire())) return null;
    this.held.set(mutex.identifier, mutex);
    return mutex.identifier;
  }

  // The library does not report whether it still held the lock.
  async release(key, token) {
    const mutex = this.held.get(token);
    this.held.delete(token);
    await mutex.release();
  }
}
