// Picklock adapter for your semaphore. The example keeps its permits in a sorted set on the first node: the holders, by
// the ends of their leases on the server's clock.

import { randomUUID } from "node:crypto";
import { Definite, serve, tryFor } from "./picklock_adapter.mjs";
import { RespClient } from "./resp_client.mjs";

const TAKE = `
local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) + ARGV[4] > tonumber(ARGV[3]) then return 0 end
for permit = 1, ARGV[4] do redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1] .. ':' .. permit) end
if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
return 1`;

class MySemaphore {
  permitsOf = new Map();

  constructor(nodes, timeoutMs) {
    this.redis = new RespClient(nodes[0], timeoutMs);
  }

  setCapacity(permits) {
    this.capacity = permits;
  }

  acquire(key, ttlMs, waitMs, signal) {
    return this.acquirePermits(key, 1, ttlMs, waitMs, signal);
  }

  // Remove this method if an acquisition of your semaphore takes one permit.
  acquirePermits(key, permits, ttlMs, waitMs, signal) {
    if (permits < 1 || permits > this.capacity) {
      throw new Definite(`${permits} permits were requested, and there are ${this.capacity}`);
    }
    const token = randomUUID();
    this.permitsOf.set(token, permits);
    const take = () => this.redis.command("EVAL", TAKE, 1, key, token, ttlMs, this.capacity, permits);
    return tryFor(waitMs, async () => (await take()) && { token }, signal);
  }

  async release(key, token) {
    const names = Array.from({ length: this.permitsOf.get(token) }, (_, permit) => `${token}:${permit + 1}`);
    return (await this.redis.command("ZREM", key, ...names)) === names.length;
  }

  // If your code releases in a `finally` even after a refusal, say what happens then (scenario permits-finally-unlock):
  // releaseUnheld(key) { return false; }
}

const makeLock = (nodes, timeoutMs, options) => new MySemaphore(nodes, timeoutMs, options);
await serve(makeLock, { name: "my-semaphore", version: "0.1.0", clients: true });
