import { randomUUID } from "node:crypto";
import Redis from "ioredis";

const DELETE_IF_MINE = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0";

/** Put your own lock in place of this one. */
export default class MyLock {
  constructor(nodes, timeoutMs) {
    this.redis = new Redis(nodes[0], { commandTimeout: timeoutMs, maxRetriesPerRequest: 0, lazyConnect: true });
  }
  async tryAcquire(key, ttlMs) {
    const token = randomUUID();
    return (await this.redis.set(key, token, "PX", ttlMs, "NX")) && token;
  }
  async release(key, token) {
    return (await this.redis.eval(DELETE_IF_MINE, 1, key, token)) === 1;
  }
}
