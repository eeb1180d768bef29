// Picklock adapter for RedLock.net, on all given nodes. The library renews leases itself.
// UNTESTED: see PicklockAdapter.cs.

using System.Net;
using MyLock;
using RedLockNet;
using RedLockNet.SERedis;
using RedLockNet.SERedis.Configuration;

await PicklockAdapter.Serve((nodes, timeout, options) => new RedLockNetLock(nodes, timeout), "redlock-net", "2.3.2");

internal sealed class RedLockNetLock(string[] nodes, TimeSpan timeout) : ILock
{
    private static readonly TimeSpan Retry = TimeSpan.FromMilliseconds(100);

    private readonly Dictionary<string, IRedLock> held = [];
    private readonly Lazy<RedLockFactory> factory = new(() => RedLockFactory.Create(nodes.Select(node => new RedLockEndPoint
    {
        EndPoint = new DnsEndPoint(new Uri(node).Host, new Uri(node).Port),
        ConnectionTimeout = (int)timeout.TotalMilliseconds,
        SyncTimeout = (int)timeout.TotalMilliseconds,
    }).ToList()));

    public async Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait)
    {
        var taken = wait == TimeSpan.Zero
            ? await factory.Value.CreateLockAsync(key, ttl)
            : await factory.Value.CreateLockAsync(key, ttl, wait, Retry);
        if (taken.IsAcquired)
        {
            held[taken.LockId] = taken;
            return new Grant(taken.LockId);
        }
        return taken.Status == RedLockStatus.Conflicted ? null : throw new InvalidOperationException($"{taken.Status}");
    }

    public async Task<bool?> Release(string key, string token)
    {
        if (!held.Remove(token, out var taken))
        {
            throw new DefiniteException($"no grant has the token {token}");
        }
        await taken.DisposeAsync();
        return null;
    }
}
