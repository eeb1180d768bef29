// Picklock adapter for your read/write lock. The example keeps its holders in a sorted set on the first node, by the ends
// of their leases on the server's clock. A writer that waits keeps new readers out.

import { randomUUID } from "node:crypto";
import { serve, tryFor } from "./picklock_adapter.mjs";
import { RespClient } from "./resp_client.mjs";

const TAKE = `
local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if string.sub(ARGV[1], 1, 1) == 'w' then
  if redis.call('ZCARD', KEYS[1]) > 0 then
    redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
    redis.call('PEXPIRE', KEYS[2], ARGV[2] * 2)
    return 0
  end
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  if redis.call('ZCARD', KEYS[2]) > 0 then return 0 end
  for _, holder in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    if string.sub(holder, 1, 1) == 'w' then return 0 end
  end
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
return 1`;

class MyReadWriteLock {
  constructor(nodes, timeoutMs) {
    this.redis = new RespClient(nodes[0], timeoutMs);
  }

  // For a writer.
  acquire(key, ttlMs, waitMs, signal) {
    return this.take("w", key, ttlMs, waitMs, signal);
  }

  // For a reader.
  acquireShared(key, ttlMs, waitMs, signal) {
    return this.take("r", key, ttlMs, waitMs, signal);
  }

  take(mode, key, ttlMs, waitMs, signal) {
    const token = `${mode}:${randomUUID()}`;
    const take = () => this.redis.command("EVAL", TAKE, 2, key, `${key}:waiting`, token, ttlMs);
    return tryFor(waitMs, async () => (await take()) && { token }, signal);
  }

  async release(key, token) {
    return (await this.redis.command("ZREM", key, token)) === 1;
  }
}

const makeLock = (nodes, timeoutMs, options) => new MyReadWriteLock(nodes, timeoutMs, options);
await serve(makeLock, { name: "my-rwlock", version: "0.1.0", clients: true });
