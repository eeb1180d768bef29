// Picklock adapter for the lock of csredis (CSRedisCore), on the first node. The library renews leases itself.
// UNTESTED: see PicklockAdapter.cs.

using CSRedis;
using MyLock;

await PicklockAdapter.Serve((nodes, timeout, options) => new CsRedisLock(new Uri(nodes[0]), timeout), "csredis", "3.8.804");

internal sealed class CsRedisLock(Uri node, TimeSpan timeout) : ILock
{
    private readonly Dictionary<string, CSRedisClientLock> held = [];
    private readonly Lazy<CSRedisClient> redis = new(() => new CSRedisClient(
        $"{node.Host}:{node.Port},connectTimeout={timeout.TotalMilliseconds},syncTimeout={timeout.TotalMilliseconds}"));

    // The library measures leases in whole seconds.
    public Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait)
    {
        if (ttl.Milliseconds != 0)
        {
            throw new DefiniteException("a lease is a number of whole seconds");
        }
        var token = Guid.NewGuid().ToString("N");
        return PicklockAdapter.TryFor(wait, () =>
        {
            var taken = redis.Value.TryLock(key, (int)ttl.TotalSeconds);
            if (taken is not null)
            {
                held[token] = taken;
            }
            return Task.FromResult(taken is null ? null : new Grant(token));
        });
    }

    public Task<bool?> Release(string key, string token) => held.Remove(token, out var taken)
        ? Task.FromResult<bool?>(taken.Unlock())
        : throw new DefiniteException($"no grant has the token {token}");
}
