// Picklock adapter for your lock around a scheduled job. The example takes a lock on the first node with SET NX PX. Its
// release keeps the key for a minimum time, so that an instance whose clock is late does not run the job again.

import { randomUUID } from "node:crypto";
import { now, serve, tryFor } from "./picklock_adapter.mjs";
import { RespClient } from "./resp_client.mjs";

const IF_MINE = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

class MyCronLock {
  // The minimum time from the request to the end of the key, longer than clocks and timers can differ.
  minHoldMs = 600;
  requestedAt = new Map();

  constructor(nodes, timeoutMs) {
    this.redis = new RespClient(nodes[0], timeoutMs);
  }

  acquire(key, ttlMs, waitMs, signal) {
    const token = randomUUID();
    this.requestedAt.set(token, now());
    const setNxPx = () => this.redis.command("SET", key, token, "NX", "PX", ttlMs);
    return tryFor(waitMs, async () => (await setNxPx()) && { token }, signal);
  }

  async release(key, token) {
    const leftMs = Math.round(this.minHoldMs - (now() - this.requestedAt.get(token)));
    const end = leftMs > 0 ? "redis.call('PEXPIRE', KEYS[1], ARGV[2])" : "redis.call('DEL', KEYS[1])";
    return (await this.redis.command("EVAL", IF_MINE + end, 1, key, token, leftMs)) === 1;
  }
}

const makeLock = (nodes, timeoutMs, options) => new MyCronLock(nodes, timeoutMs, options);
await serve(makeLock, { name: "my-cron", version: "0.1.0", clients: true });
