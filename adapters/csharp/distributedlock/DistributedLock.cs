// Picklock adapter for RedisDistributedLock of DistributedLock.Redis, on all given nodes. The library renews leases
// itself, and cancels a token when a lock is lost.
//
// Options:
//   timeout  `scaled` (default): commands time out after a sixth of a lease, but not before 100 ms: the library's lease
//            is 30 s by default, and the timeout of StackExchange.Redis 5 s. At the latest, and with `node`: after
//            the time that Picklock suggests.

using System.Collections.Concurrent;
using Medallion.Threading.Redis;
using MyLock;
using StackExchange.Redis;

await PicklockAdapter.ServeClients(
    (nodes, timeout, options) => new DistributedRedisLock(nodes, timeout, options), "distributedlock",
    PicklockAdapter.VersionOf(typeof(RedisDistributedLock)), "timeout");

internal sealed class DistributedRedisLock : ICancellable, IFailingSections
{
    private const int ShortestTimeoutMs = 100;

    private readonly ConcurrentDictionary<string, RedisDistributedLockHandle> held = [];
    private readonly Func<TimeSpan, IDatabase[]> connect;
    private readonly object connecting = new();
    private IDatabase[]? databases;

    public DistributedRedisLock(string[] nodes, TimeSpan timeout, IReadOnlyDictionary<string, string> options)
    {
        var isScaled = PicklockAdapter.Choice(options, "timeout", "scaled", "node") == "scaled";
        var settings = nodes.Select(node => Multiplexer.Settings(node, timeout)).ToArray();
        connect = lease =>
        {
            var scaled = TimeSpan.FromMilliseconds(
                Math.Clamp(lease.TotalMilliseconds / 6, ShortestTimeoutMs, timeout.TotalMilliseconds));
            foreach (var one in settings.Where(_ => isScaled))
            {
                one.AsyncTimeout = one.SyncTimeout = (int)scaled.TotalMilliseconds;
            }
            return settings.Select(one => ConnectionMultiplexer.Connect(one).GetDatabase()).ToArray();
        };
    }

    public Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait) =>
        Acquire(key, ttl, wait, CancellationToken.None);

    public async Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp)
    {
        var toTake = new RedisDistributedLock(key, Databases(ttl), settings => settings.Expiry(ttl));
        try
        {
            var taken = await toTake.TryAcquireAsync(wait, givenUp);
            if (taken is null)
            {
                return null;
            }
            var token = PicklockAdapter.PrivateField(taken, "_innerHandle", "_primitive", "_lockId").ToString()!;
            held[token] = taken;
            return new Grant(token) { Lost = taken.HandleLostToken };
        }
        catch (OperationCanceledException) when (givenUp.IsCancellationRequested)
        {
            return null;
        }
    }

    // As `await using` does.
    public async Task<bool?> Release(string key, string token)
    {
        if (!held.TryRemove(token, out var taken))
        {
            throw new DefiniteException($"no grant has the token {token}");
        }
        await taken.DisposeAsync();
        return null;
    }

    public Task<bool?> SectionFailed(string key, string token) => Release(key, token);

    private IDatabase[] Databases(TimeSpan lease)
    {
        lock (connecting)
        {
            return databases ??= connect(lease);
        }
    }
}
