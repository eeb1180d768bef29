// Picklock adapter for your leader election. The example takes a key on the first node with SET NX PX, counts the epochs
// next to it, renews the key in a task, and checks whose key it is before each act.

using System;
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

namespace MyLock
{
    internal sealed class MyLeader : ILeaderElection, ICancellable
    {
        private const string Lead = @"
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return redis.call('INCR', KEYS[2])";

        private const string IfMine = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return ";

        private readonly RespClient redis;
        private readonly ConcurrentDictionary<string, Term> terms = new ConcurrentDictionary<string, Term>();

        private sealed class Term
        {
            public ulong Epoch;
            public readonly CancellationTokenSource Resigned = new CancellationTokenSource();
        }

        private MyLeader(string node, TimeSpan timeout)
        {
            redis = new RespClient(node, timeout);
        }

        public Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait) =>
            Acquire(key, ttl, wait, CancellationToken.None);

        public async Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp)
        {
            var token = Guid.NewGuid().ToString("N");
            var grant = await PicklockAdapter.TryFor(wait, async () =>
            {
                var epoch = (long)await redis.Command("EVAL", Lead, 2, key, $"{key}:epoch", token, Millis(ttl));
                return epoch == 0 ? null : new Grant(token, (ulong)epoch);
            }, givenUp);
            if (grant != null)
            {
                var term = new Term { Epoch = grant.Fence.Value };
                terms[token] = term;
                _ = Renew(term, key, token, ttl, grant.AskedAt.Value);
            }
            return grant;
        }

        // Returns the epoch if the client may act now, or null if it does not lead any more.
        public async Task<Acting> Act(string key, string token) =>
            token.Equals(await redis.Command("GET", key)) ? new Acting(terms[token].Epoch) : null;

        public async Task<bool?> Release(string key, string token)
        {
            terms[token].Resigned.Cancel();
            const string script = IfMine + "redis.call('DEL', KEYS[1])";
            return 1L.Equals(await redis.Command("EVAL", script, 1, key, token));
        }

        private async Task Renew(Term term, string key, string token, TimeSpan ttl, long renewedAt)
        {
            const string script = IfMine + "redis.call('PEXPIRE', KEYS[1], ARGV[2])";
            var resigned = term.Resigned.Token;
            var pauseMs = Millis(ttl) / 3;
            while (true)
            {
                // A cancelled delay ends, and is not a failure.
                await Task.WhenAny(Task.Delay((int)pauseMs, resigned));
                if (resigned.IsCancellationRequested)
                {
                    return;
                }
                var askedAt = Stopwatch.GetTimestamp();
                bool isMine, isRenewed = false;
                try
                {
                    isMine = isRenewed = 1L.Equals(await redis.Command("EVAL", script, 1, key, token, Millis(ttl)));
                    pauseMs = Millis(ttl) / 3;
                }
                catch (Exception)
                {
                    // The next attempt may still come in time.
                    var sinceMs = (Stopwatch.GetTimestamp() - renewedAt) / (Stopwatch.Frequency / 1000);
                    isMine = sinceMs < Millis(ttl) * 4 / 5;
                    pauseMs = Millis(ttl) / 20;
                }
                if (resigned.IsCancellationRequested)
                {
                    return;
                }
                if (!isMine)
                {
                    PicklockAdapter.Lost(token);
                    return;
                }
                if (isRenewed)
                {
                    renewedAt = askedAt;
                    PicklockAdapter.Extended(token, ttl, askedAt);
                }
            }
        }

        private static long Millis(TimeSpan time) => (long)time.TotalMilliseconds;

        private static void Main() => PicklockAdapter.ServeClients(
            (nodes, timeout, options) => new MyLeader(nodes[0], timeout), "my-leader", "0.1.0").Wait();
    }
}
