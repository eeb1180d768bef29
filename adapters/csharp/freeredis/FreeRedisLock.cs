// Picklock adapter for the lock of FreeRedis, on the first node. The library renews leases itself, and notifies the
// holder of a lost lease by the token HandleLostToken. Its `Lock` waits for as long as a lease, whatever the request
// allows.
//
// Options:
//   timeout  `node` (default): commands time out after the time that Picklock suggests. `library`: after 20 s, and
//            connections after 10 s, the library's defaults. Its documentation shows no lease to scale them by.

using System.Collections.Concurrent;
using FreeRedis;
using MyLock;

await PicklockAdapter.ServeClients(
    (nodes, timeout, options) => new FreeRedisLock(nodes[0], timeout, options), "freeredis",
    PicklockAdapter.VersionOf(typeof(RedisClient)), "timeout");

internal sealed class FreeRedisLock : IFailingSections
{
    private readonly ConcurrentDictionary<string, RedisClient.LockController> held = [];
    private readonly Lazy<RedisClient> redis;

    public FreeRedisLock(string node, TimeSpan timeout, IReadOnlyDictionary<string, string> options)
    {
        var (addresses, master) = PicklockAdapter.Addresses(node);
        ConnectionStringBuilder settings = master ?? addresses[0];
        if (PicklockAdapter.Choice(options, "timeout", "node", "library") == "node")
        {
            settings.ConnectTimeout = settings.ReceiveTimeout = settings.SendTimeout = timeout;
        }
        redis = new(() => master is null ? new RedisClient(settings) : new RedisClient(settings, addresses, false));
    }

    public Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait)
    {
        if (ttl.Milliseconds != 0)
        {
            throw new DefiniteException("a lease is a number of whole seconds");
        }
        var taken = redis.Value.Lock(key, (int)ttl.TotalSeconds);
        if (taken is null)
        {
            return Task.FromResult<Grant?>(null);
        }
        var token = (string)PicklockAdapter.PrivateField(taken, "_value");
        held[token] = taken;
        return Task.FromResult<Grant?>(new Grant(token) { Lost = Lost(taken) });
    }

    // The property may be a CancellationToken or a nullable one.
    private static CancellationToken Lost(RedisClient.LockController taken) =>
        taken.HandleLostToken as CancellationToken? ?? CancellationToken.None;

    public Task<bool?> Release(string key, string token) => Task.FromResult<bool?>(Taken(token).Unlock());

    public Task<bool?> SectionFailed(string key, string token)
    {
        Taken(token).Dispose();
        return Task.FromResult<bool?>(null);
    }

    private RedisClient.LockController Taken(string token) => held.TryRemove(token, out var taken)
        ? taken
        : throw new DefiniteException($"no grant has the token {token}");
}
