import { randomUUID } from "node:crypto";
import Redis from "ioredis";

// Prints to standard output, which is reserved for the protocol, and takes the lock from its holder.
export default class Chatty {
  constructor(nodes, timeoutMs) {
    this.redis = new Redis(nodes[0], { commandTimeout: timeoutMs, lazyConnect: true });
  }
  async tryAcquire(key, ttlMs) {
    console.log("a line of the library");
    const token = randomUUID();
    await this.redis.set(key, token, "PX", ttlMs);
    return token;
  }
  async release(key) {
    return (await this.redis.del(key)) === 1;
  }
}
