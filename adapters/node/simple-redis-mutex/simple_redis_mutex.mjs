// Picklock adapter for simple-redis-mutex, with node-redis on the first node.
//
// A waiter polls every third of a lease: the library's defaults are 10 s and, for a lease, 30 s. node-redis has no limit
// for a command that was sent, so the adapter stops waiting for `tryLock` and `release` after the time that Picklock
// suggests; commands that could not be sent by then fail (`commandOptions.timeout`).
//
// Option: `refresh=true` extends with `refreshTimeout`, which does not report whether the lock was still held.

import { createClient } from "redis";
import { lock, tryLock } from "simple-redis-mutex";
import { ExtendableLockObjects, installed, LockObjects, now, serve } from "./picklock_adapter.mjs";

const taken = (error) => (/could not be acquired after/.test(error.message) ? null : Promise.reject(error));
const tooLate = (ms) => new Promise((_, fail) => setTimeout(fail, ms, new Error(`no answer within ${ms} ms`)));
const within = (ms, promise) => Promise.race([promise, tooLate(ms)]);

/** The client, which also records the value that it wrote last, and when it sent it. */
const recording = (redis) => Object.assign(Object.create(redis), {
  async set(...command) {
    const askedAt = now();
    const reply = await redis.set(...command);
    if (reply === "OK") Object.assign(this, { askedAt, value: command[1] });
    return reply;
  },
});

const methods = (connected, ms) => ({
  async take(key, timeout, waitMs) {
    const redis = recording(await within(ms, connected()));
    const once = async () => (([has, release]) => (has ? release : null))(await tryLock(redis, key, { timeout }));
    const settings = { timeout, pollingInterval: Math.floor(timeout / 3), failAfter: waitMs };
    const release = await (waitMs ? lock(redis, key, settings).catch(taken) : within(ms, once()));
    return release && { release, token: redis.value, fence: release.fencingToken, askedAt: redis.askedAt };
  },
  // The library returns nothing.
  free: ({ release }) => within(ms, release()).then(() => null),
  async prolong(held) {
    const askedAt = now();
    await within(ms, held.release.refreshTimeout());
    return { ...held, askedAt };
  },
});

function makeLock(nodes, timeoutMs, { refresh }) {
  const redis = createClient({ url: nodes[0], commandOptions: { timeout: timeoutMs } }).on("error", console.error);
  let connecting;
  const connected = () => (connecting ??= redis.connect());
  const objects = refresh === "true" ? new ExtendableLockObjects() : new LockObjects();
  return Object.assign(objects, methods(connected, timeoutMs));
}

await serve(makeLock, { ...installed("simple-redis-mutex"), options: ["refresh"], clients: true });
