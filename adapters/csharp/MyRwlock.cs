// Picklock adapter for your read/write lock. The example keeps its holders in a sorted set on the first node, by the ends
// of their leases on the server's clock. A writer that waits keeps new readers out.

using System;
using System.Threading;
using System.Threading.Tasks;

namespace MyLock
{
    internal sealed class MyRwlock : IReadWriteLock, ICancellable
    {
        private const string TakeScript = @"
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
return 1";

        private readonly RespClient redis;

        private MyRwlock(string node, TimeSpan timeout)
        {
            redis = new RespClient(node, timeout);
        }

        public Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait) =>
            Acquire(key, ttl, wait, CancellationToken.None);

        // For a writer.
        public Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp) =>
            Take("w", key, ttl, wait, givenUp);

        // For a reader.
        public Task<Grant> AcquireShared(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp) =>
            Take("r", key, ttl, wait, givenUp);

        private Task<Grant> Take(string mode, string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp)
        {
            var token = $"{mode}:{Guid.NewGuid():N}";
            return PicklockAdapter.TryFor(wait, async () =>
            {
                var lease = (long)ttl.TotalMilliseconds;
                var reply = await redis.Command("EVAL", TakeScript, 2, key, $"{key}:waiting", token, lease);
                return 1L.Equals(reply) ? new Grant(token) : null;
            }, givenUp);
        }

        public async Task<bool?> Release(string key, string token) =>
            1L.Equals(await redis.Command("ZREM", key, token));

        private static void Main() => PicklockAdapter.ServeClients(
            (nodes, timeout, options) => new MyRwlock(nodes[0], timeout), "my-rwlock", "0.1.0").Wait();
    }
}
