// Picklock adapter for your lock around a scheduled job. The example takes a lock on the first node with SET NX PX. Its
// release keeps the key for a minimum time, so that an instance whose clock is late does not run the job again.

using System;
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

namespace MyLock
{
    internal sealed class MyCron : IMinHold, ICancellable
    {
        private const string IfMine = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

        private readonly RespClient redis;

        // Started at each request, by the token of its grant.
        private readonly ConcurrentDictionary<string, Stopwatch> requests =
            new ConcurrentDictionary<string, Stopwatch>();

        private MyCron(string node, TimeSpan timeout)
        {
            redis = new RespClient(node, timeout);
        }

        // The minimum time from the request to the end of the key, longer than clocks and timers can differ.
        public TimeSpan MinHold => TimeSpan.FromMilliseconds(600);

        public Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait) =>
            Acquire(key, ttl, wait, CancellationToken.None);

        public Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp)
        {
            var token = Guid.NewGuid().ToString("N");
            requests[token] = Stopwatch.StartNew();
            return PicklockAdapter.TryFor(wait, async () =>
            {
                var reply = await redis.Command("SET", key, token, "NX", "PX", (long)ttl.TotalMilliseconds);
                return "OK".Equals(reply) ? new Grant(token) : null;
            }, givenUp);
        }

        public async Task<bool?> Release(string key, string token)
        {
            var leftMs = (long)(MinHold - requests[token].Elapsed).TotalMilliseconds;
            var end = leftMs > 0 ? "redis.call('PEXPIRE', KEYS[1], ARGV[2])" : "redis.call('DEL', KEYS[1])";
            return 1L.Equals(await redis.Command("EVAL", IfMine + end, 1, key, token, leftMs));
        }

        private static void Main() => PicklockAdapter.ServeClients(
            (nodes, timeout, options) => new MyCron(nodes[0], timeout), "my-cron", "0.1.0").Wait();
    }
}
