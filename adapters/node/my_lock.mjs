// Picklock adapter for your lock. The example takes a lock on the first node with SET NX PX, and compares the token
// before it deletes or extends the key.

import { randomUUID } from "node:crypto";
import { serve, tryFor } from "./picklock_adapter.mjs";
import { RespClient } from "./resp_client.mjs";

// With ioredis:  const redis = new Redis(nodes[0], { commandTimeout: timeoutMs,
//     maxRetriesPerRequest: 0, lazyConnect: true }), and redis.set(key, token, "PX", ttlMs, "NX").

// A lock that renews in the background calls extended(token, ttlMs, askedAt) of picklock_adapter.mjs after each renewal,
// and lost(token) before its lease ends unrenewed. It needs `renews = true` in picklock.toml.

const IF_MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

class MyLock {
  constructor(nodes, timeoutMs) {
    this.redis = new RespClient(nodes[0], timeoutMs);
  }

  acquire(key, ttlMs, waitMs, signal) {
    const token = randomUUID();
    const setNxPx = () => this.redis.command("SET", key, token, "NX", "PX", ttlMs);
    return tryFor(waitMs, async () => (await setNxPx()) && { token }, signal);
  }

  extend(key, token, ttlMs) {
    const script = IF_MINE + "redis.call('PEXPIRE', KEYS[1], ARGV[2])";
    const pexpire = () => this.redis.command("EVAL", script, 1, key, token, ttlMs);
    return tryFor(0, async () => (await pexpire()) && { token });
  }

  async release(key, token) {
    const script = IF_MINE + "redis.call('DEL', KEYS[1])";
    return (await this.redis.command("EVAL", script, 1, key, token)) === 1;
  }
}

const makeLock = (nodes, timeoutMs, options) => new MyLock(nodes, timeoutMs, options);
await serve(makeLock, { name: "my-lock", version: "0.1.0", clients: true });
