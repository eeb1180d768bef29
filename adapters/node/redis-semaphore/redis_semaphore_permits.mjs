// Picklock adapter for redis-semaphore's semaphores: Semaphore and, for several permits at once, MultiSemaphore on the
// first node; RedlockSemaphore and RedlockMultiSemaphore on several.
//
// Options: `multi=true` uses the Multi classes for one permit, too; `refresh=false` turns the library's renewal off, at
// eight tenths of a lease; a lease is then extended by a semaphore that was "acquired externally";
// `command_timeout=none`.

import Redis from "ioredis";
import { MultiSemaphore, RedlockMultiSemaphore, RedlockSemaphore, Semaphore } from "redis-semaphore";
import { Definite, ExtendableLockObjects, LockObjects, installed, ioredisOptions } from "./picklock_adapter.mjs";
import { lost, now, serve } from "./picklock_adapter.mjs";

// When each permit was last requested, by its identifier. The library counts the lease from the client's time, which it
// reads before it sends the command and passes as the last argument of its scripts.
const requested = new Map();

function noting(client) {
  const evalsha = client.evalsha.bind(client);
  client.evalsha = (sha, keys, ...args) => {
    const [identifier, , sentAt] = args.slice(-3);
    if (args.length > 3) requested.set(identifier, now() - (Date.now() - sentAt));
    return evalsha(sha, keys, ...args);
  };
  return client;
}

const named = (held, again) =>
  Object.assign(held, { token: held.identifier, askedAt: requested.get(held.identifier), again });

const Permits = (Base) =>
  class extends Base {
    setCapacity(permits) {
      this.capacity = permits;
    }

    // Called by `acquire`, for one permit.
    take(key, ttlMs, waitMs) {
      return this.takePermits(key, 1, ttlMs, waitMs);
    }

    async acquirePermits(key, permits, ttlMs, waitMs) {
      if (permits < 1 || permits > this.capacity) throw new Definite(`there are ${this.capacity} permits, not ${permits}`);
      const held = await this.takePermits(key, permits, ttlMs, waitMs);
      if (!held) return null;
      this.objects.set(held.token, held);
      return { token: held.token, askedAt: held.askedAt };
    }

    async takePermits(key, permits, ttlMs, waitMs) {
      const waiting = waitMs ? { acquireTimeout: waitMs } : { acquireAttemptsLimit: 1 };
      const onLockLost = () => lost(held.identifier);
      const held = this.make(key, permits, { lockTimeout: ttlMs, onLockLost, ...waiting });
      return (await held.tryAcquire()) && named(held, { key, permits });
    }

    // The library returns nothing.
    free = (held) => held.release().then(() => (requested.delete(held.identifier), null));

    // Extends a lease, if the library does not renew it.
    async prolong({ again, token }, ttlMs) {
      const external = { lockTimeout: ttlMs, externallyAcquiredIdentifier: token };
      const held = this.make(again.key, again.permits, external);
      return (await held.tryAcquire()) && named(held, again);
    }
  };

const Renewing = Permits(LockObjects);
const Extended = Permits(ExtendableLockObjects);

function makeLock(nodes, timeoutMs, options) {
  const clients = nodes.map((node) => noting(new Redis(node, ioredisOptions(timeoutMs, options))));
  const isRedlock = clients.length > 1;
  const [client, Single, Multi] = isRedlock
    ? [clients, RedlockSemaphore, RedlockMultiSemaphore]
    : [clients[0], Semaphore, MultiSemaphore];
  const off = options.refresh === "false";
  const lock = off ? new Extended() : new Renewing();
  lock.make = (key, permits, settings) => {
    const all = off ? { ...settings, refreshInterval: 0 } : settings;
    const isMulti = permits > 1 || options.multi === "true";
    return isMulti ? new Multi(client, key, lock.capacity, permits, all) : new Single(client, key, lock.capacity, all);
  };
  return lock;
}

const options = ["multi", "refresh", "command_timeout"];
await serve(makeLock, { ...installed("redis-semaphore"), options, clients: true });
