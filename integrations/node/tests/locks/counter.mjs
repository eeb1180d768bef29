import { randomUUID } from "node:crypto";
import Redis from "ioredis";

// A semaphore that counts its holders.
export default class Counter {
  constructor(nodes, timeoutMs) {
    this.redis = new Redis(nodes[0], { commandTimeout: timeoutMs, lazyConnect: true });
  }
  setCapacity(permits) {
    this.capacity = permits;
  }
  async tryAcquire(key) {
    if ((await this.redis.incr(key)) <= this.capacity) return randomUUID();
    await this.redis.decr(key);
    return null;
  }
  async release(key) {
    await this.redis.decr(key);
  }
}
