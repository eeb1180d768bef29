// Picklock adapter for the lock of csredis (CSRedisCore), on the first node. The library renews leases itself.
//
// Options:
//   timeout  `lease` (default): a command times out after one lease. The library's default is 10 s, and its own test
//            of the lock has a lease of 10 s. At the latest, and with `node`: after the time that Picklock suggests.
//   preheat  `none` (default): connections are opened when they are needed. `library`: five are opened at once, the
//            library's default, which blocks the thread pool of a machine with two processors for seconds.

using System.Collections.Concurrent;
using CSRedis;
using MyLock;

await PicklockAdapter.ServeClients(
    (nodes, timeout, options) => new CsRedisLock(nodes[0], timeout, options), "csredis",
    PicklockAdapter.VersionOf(typeof(CSRedisClient)), "timeout", "preheat");

internal sealed class CsRedisLock : IFailingSections
{
    private readonly ConcurrentDictionary<string, CSRedisClientLock> held = [];
    private readonly Func<TimeSpan, CSRedisClient> connect;
    private readonly object connecting = new();
    private CSRedisClient? redis;

    public CsRedisLock(string node, TimeSpan timeout, IReadOnlyDictionary<string, string> options)
    {
        var (addresses, master) = PicklockAdapter.Addresses(node);
        var isScaled = PicklockAdapter.Choice(options, "timeout", "lease", "node") == "lease";
        var preheat = PicklockAdapter.Choice(options, "preheat", "none", "library") == "none" ? ",preheat=0" : "";
        connect = lease =>
        {
            var command = (int)(isScaled && lease < timeout ? lease : timeout).TotalMilliseconds;
            var settings = $"{master ?? addresses[0]},syncTimeout={command}{preheat}";
            return master is null ? new CSRedisClient(settings) : new CSRedisClient(settings, addresses);
        };
    }

    // The library counts leases in whole seconds, and `Lock` waits for as long as a lease.
    public Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait)
    {
        if (ttl.Milliseconds != 0)
        {
            throw new DefiniteException("a lease is a number of whole seconds");
        }
        var client = Client(ttl);
        var seconds = (int)ttl.TotalSeconds;
        var taken = wait < ttl ? client.TryLock(key, seconds) : client.Lock(key, seconds);
        if (taken is null)
        {
            return Task.FromResult<Grant?>(null);
        }
        var token = (string)PicklockAdapter.PrivateField(taken, "_value");
        held[token] = taken;
        return Task.FromResult<Grant?>(new Grant(token) { Lost = Lost(taken) });
    }

    // Version 3.6 has no such token.
    private static CancellationToken Lost(CSRedisClientLock taken) =>
        taken.GetType().GetProperty("HandleLostToken")?.GetValue(taken) as CancellationToken? ?? CancellationToken.None;

    public Task<bool?> Release(string key, string token) => Task.FromResult<bool?>(Taken(token).Unlock());

    public Task<bool?> SectionFailed(string key, string token)
    {
        Taken(token).Dispose();
        return Task.FromResult<bool?>(null);
    }

    private CSRedisClientLock Taken(string token) => held.TryRemove(token, out var taken)
        ? taken
        : throw new DefiniteException($"no grant has the token {token}");

    private CSRedisClient Client(TimeSpan lease)
    {
        lock (connecting)
        {
            return redis ??= connect(lease);
        }
    }
}
