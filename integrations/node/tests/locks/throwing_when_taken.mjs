import { randomUUID } from "node:crypto";
import Redis from "ioredis";

// Throws an exception if the lock is taken, instead of waiting.
export default class ThrowingWhenTaken {
  constructor(nodes, timeoutMs) {
    this.redis = new Redis(nodes[0], { commandTimeout: timeoutMs, lazyConnect: true });
  }
  async tryAcquire(key, ttlMs) {
    const token = randomUUID();
    const reply = await this.redis.set(key, token, "PX", ttlMs, "NX");
    return reply.toString() && token;
  }
  async release(key) {
    return (await this.redis.del(key)) === 1;
  }
}
