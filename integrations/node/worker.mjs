// A worker process of the engine: `node worker.mjs FILE` serves the lock that FILE exports by default.

import { basename } from "node:path";
import { pathToFileURL } from "node:url";
// First, because it reserves standard output, and the lock's module may print.
import { now, serve, tryFor } from "./adapter.mjs";

const file = process.argv[2];
const { default: Lock } = await import(pathToFileURL(file));
if (typeof Lock !== "function") throw new TypeError(`${file} has no default export that is a class`);

// The adapter requires grants, and a lock may return a token.
function granted(result, token, askedAt) {
  if (!result) return null;
  if (result === true) return { token, askedAt };
  if (typeof result === "string") return { token: result };
  if (typeof result.token === "string") return result;
  throw new TypeError(`a lock returns its token as text, or a grant { token, fence }; got ${JSON.stringify(result)}`);
}

function adapted(lock) {
  const acquire = lock.acquire
    ? async (key, ttlMs, waitMs, signal) => granted(await lock.acquire(key, ttlMs, waitMs, signal))
    : (key, ttlMs, waitMs, signal) => tryFor(waitMs, async () => granted(await lock.tryAcquire(key, ttlMs)), signal);
  const extend = async (key, token, ttlMs) => {
    const askedAt = now();
    return granted(await lock.extend(key, token, ttlMs), token, askedAt);
  };
  const forwarded = (names, convert) =>
    Object.fromEntries(names.filter((name) => lock[name]).map((name) => [name, (...words) => convert(lock[name](...words))]));
  const optional = {
    ...forwarded(["sectionFailed", "releaseUnheld", "setCapacity", "act", "terminate"], (result) => result),
    ...forwarded(["acquirePermits", "acquireShared"], async (result) => granted(await result)),
    minHoldMs: lock.minHoldMs,
    leaseMarginMs: lock.leaseMarginMs,
  };
  // The adapter takes a lock with fewer parameters for one that cannot give up.
  const own = lock.acquire && lock.acquire.length < 4 ? (key, ttlMs, waitMs) => acquire(key, ttlMs, waitMs) : acquire;
  return { acquire: own, release: (key, token) => lock.release(key, token), ...optional, ...(lock.extend && { extend }) };
}

await serve(async (nodes, timeoutMs, options) => adapted(await new Lock(nodes, timeoutMs, options)), {
  name: basename(file).replace(/\.\w+$/, ""),
  options: Lock.options ?? [],
  clients: true,
});
