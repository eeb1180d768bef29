import { randomUUID } from "node:crypto";
import Redis from "ioredis";

export default class BrokenLock {
  constructor(nodes, timeoutMs) {
    this.redis = new Redis(nodes[0], { commandTimeout: timeoutMs, maxRetriesPerRequest: 0, lazyConnect: true });
  }
  async tryAcquire(key, ttlMs) {
    const token = randomUUID();
    return (await this.redis.set(key, token, "PX", ttlMs, "NX")) && token;
  }
  async release(key) {
    return (await this.redis.del(key)) === 1;
  }
}
