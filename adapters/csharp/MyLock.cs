// Picklock adapter for your lock. The example takes a lock on the first node with SET NX PX, and compares the token
// before it deletes or extends the key.

using System;
using System.Threading;
using System.Threading.Tasks;

namespace MyLock
{
    // With StackExchange.Redis:  var redis = ConnectionMultiplexer.Connect(...).GetDatabase(), and
    // redis.LockTakeAsync(key, token, ttl) to acquire.

    // A lock that renews in the background calls PicklockAdapter.Extended(token, ttl, askedAt) after each renewal, and
    // PicklockAdapter.Lost(token) before its lease ends unrenewed. It needs `renews = true` in picklock.toml.

    internal sealed class ExampleLock : IExtendable, ICancellable
    {
        private const string IfMine = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

        private readonly RespClient redis;

        private ExampleLock(string node, TimeSpan timeout)
        {
            redis = new RespClient(node, timeout);
        }

        public Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait) =>
            Acquire(key, ttl, wait, CancellationToken.None);

        public Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp)
        {
            var token = Guid.NewGuid().ToString("N");
            return PicklockAdapter.TryFor(wait, async () =>
                GrantIf("OK", token, await redis.Command("SET", key, token, "NX", "PX", Millis(ttl))), givenUp);
        }

        public Task<Grant> Extend(string key, string token, TimeSpan ttl)
        {
            const string script = IfMine + "redis.call('PEXPIRE', KEYS[1], ARGV[2])";
            return PicklockAdapter.TryFor(TimeSpan.Zero, async () =>
                GrantIf(1L, token, await redis.Command("EVAL", script, 1, key, token, Millis(ttl))));
        }

        public async Task<bool?> Release(string key, string token)
        {
            const string script = IfMine + "redis.call('DEL', KEYS[1])";
            return 1L.Equals(await redis.Command("EVAL", script, 1, key, token));
        }

        private static Grant GrantIf(object success, string token, object reply) =>
            success.Equals(reply) ? new Grant(token) : null;

        private static long Millis(TimeSpan time) => (long)time.TotalMilliseconds;

        private static void Main() => PicklockAdapter.ServeClients(
            (nodes, timeout, options) => new ExampleLock(nodes[0], timeout), "my-lock", "0.1.0").Wait();
    }
}
