// Picklock adapter for your semaphore. The example keeps its permits in a sorted set on the first node: the holders, by
// the ends of their leases on the server's clock.

using System;
using System.Collections.Concurrent;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace MyLock
{
    internal sealed class MySemaphore : ISeveralPermits, ICancellable
    {
        private const string Take = @"
local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) + ARGV[4] > tonumber(ARGV[3]) then return 0 end
for permit = 1, ARGV[4] do redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1] .. ':' .. permit) end
if redis.call('PTTL', KEYS[1]) < ARGV[2] * 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2] * 2) end
return 1";

        private readonly RespClient redis;
        private readonly ConcurrentDictionary<string, int> permitsOf = new ConcurrentDictionary<string, int>();
        private int capacity;

        private MySemaphore(string node, TimeSpan timeout)
        {
            redis = new RespClient(node, timeout);
        }

        public void SetCapacity(int permits) => capacity = permits;

        public Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait) =>
            Acquire(key, ttl, wait, CancellationToken.None);

        public Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp) =>
            AcquirePermits(key, 1, ttl, wait, givenUp);

        // Without this method the class implements ISemaphore: each acquisition takes one permit.
        public Task<Grant> AcquirePermits(
            string key, int permits, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp)
        {
            if (permits < 1 || permits > capacity)
            {
                throw new DefiniteException($"{permits} permits were requested, and there are {capacity}");
            }
            var token = Guid.NewGuid().ToString("N");
            permitsOf[token] = permits;
            return PicklockAdapter.TryFor(wait, async () =>
            {
                var reply = await redis.Command("EVAL", Take, 1, key, token, Millis(ttl), capacity, permits);
                return 1L.Equals(reply) ? new Grant(token) : null;
            }, givenUp);
        }

        public async Task<bool?> Release(string key, string token)
        {
            long permits = permitsOf[token];
            var names = Enumerable.Range(1, (int)permits).Select(permit => $"{token}:{permit}");
            return permits.Equals(await redis.Command(new object[] { "ZREM", key }.Concat(names).ToArray()));
        }

        // If your code releases in a `finally` even after a refusal, add IUnheldRelease (scenario permits-finally-unlock):
        // public Task<bool?> ReleaseUnheld(string key) => Task.FromResult<bool?>(false);

        private static long Millis(TimeSpan time) => (long)time.TotalMilliseconds;

        private static void Main() => PicklockAdapter.ServeClients(
            (nodes, timeout, options) => new MySemaphore(nodes[0], timeout), "my-semaphore", "0.1.0").Wait();
    }
}
