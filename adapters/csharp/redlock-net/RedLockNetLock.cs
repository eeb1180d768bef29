// Picklock adapter for RedLock.net, on all given nodes. The library renews leases itself. According to its
// documentation the holder checks `IsAcquired`, so the adapter checks it every few milliseconds.
//
// Options:
//   timeout  `scaled` (default): commands time out after a thirtieth of a lease, and connections after a three
//            hundredth, but neither before 100 ms: the library's defaults are 1 s and 100 ms, and its documentation has
//            leases of 30 s. `node`: both time out after the time that Picklock suggests.
//   delays   `scaled` (default): the pauses are a thirtieth of a lease between attempts and up to a seventy-fifth
//            within one, the ratio of the documented 1 s and of the default 400 ms. `library`: 1 s and 400 ms.

using System.Collections.Concurrent;
using System.Net;
using MyLock;
using RedLockNet;
using RedLockNet.SERedis;
using RedLockNet.SERedis.Configuration;

await PicklockAdapter.ServeClients(
    (nodes, timeout, options) => new RedLockNetLock(nodes, timeout, options), "redlock-net",
    PicklockAdapter.VersionOf(typeof(RedLockFactory)), "timeout", "delays");

internal sealed class RedLockNetLock : ICancellable, IFailingSections
{
    private const int ShortestTimeoutMs = 100;
    private const int AttemptsEach = 3;

    private readonly ConcurrentDictionary<string, IRedLock> held = [];
    private readonly Func<TimeSpan, RedLockFactory> connect;
    private readonly bool areDelaysScaled;
    private readonly object connecting = new();
    private RedLockFactory? factory;

    public RedLockNetLock(string[] nodes, TimeSpan timeout, IReadOnlyDictionary<string, string> options)
    {
        var isScaled = PicklockAdapter.Choice(options, "timeout", "scaled", "node") == "scaled";
        areDelaysScaled = PicklockAdapter.Choice(options, "delays", "scaled", "library") == "scaled";
        var servers = nodes.Select(PicklockAdapter.Server).ToArray();
        int Within(TimeSpan lease, int part) => isScaled
            ? (int)Math.Clamp(lease.TotalMilliseconds / part, ShortestTimeoutMs, timeout.TotalMilliseconds)
            : (int)timeout.TotalMilliseconds;
        connect = lease => RedLockFactory.Create(
            servers.Select(server => new RedLockEndPoint
            {
                EndPoint = new DnsEndPoint(server.Host, server.Port),
                ConnectionTimeout = Within(lease, 300),
                SyncTimeout = Within(lease, 30),
            }).ToList(),
            new RedLockRetryConfiguration(AttemptsEach, areDelaysScaled ? (int)lease.TotalMilliseconds / 75 : 400));
    }

    public Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait) =>
        Acquire(key, ttl, wait, CancellationToken.None);

    public async Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp)
    {
        var retry = areDelaysScaled ? ttl / 30 : TimeSpan.FromSeconds(1);
        try
        {
            var taken = wait == TimeSpan.Zero
                ? await Factory(ttl).CreateLockAsync(key, ttl)
                : await Factory(ttl).CreateLockAsync(key, ttl, wait, retry, givenUp);
            if (taken.IsAcquired)
            {
                held[taken.LockId] = taken;
                return new Grant(taken.LockId) { IsHeld = () => taken.IsAcquired };
            }
            var why = $"{taken.Status}, {taken.InstanceSummary}";
            var isTaken = taken.Status == RedLockStatus.Conflicted;
            await taken.DisposeAsync();
            return isTaken ? null : throw new InvalidOperationException(why);
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

    private RedLockFactory Factory(TimeSpan lease)
    {
        lock (connecting)
        {
            return factory ??= connect(lease);
        }
    }
}
