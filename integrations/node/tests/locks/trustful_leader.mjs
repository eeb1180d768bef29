import { randomUUID } from "node:crypto";
import Redis from "ioredis";

// A leader election whose leader acts without a look at the key.
export default class TrustfulLeader {
  constructor(nodes, timeoutMs) {
    this.redis = new Redis(nodes[0], { commandTimeout: timeoutMs, lazyConnect: true });
  }
  async tryAcquire(key, ttlMs) {
    const token = randomUUID();
    return (await this.redis.set(key, token, "PX", ttlMs, "NX")) && token;
  }
  act() {
    return true;
  }
  async release(key) {
    return (await this.redis.del(key)) === 1;
  }
}
