// Picklock adapter for the lock of StackExchange.Redis (LockTake, LockExtend, LockRelease), on the first node.
//
// Options:
//   backlog  `queue` (default): the library's default, commands wait while there is no connection. `fail-fast`: they
//            fail at once.

using MyLock;
using StackExchange.Redis;

await PicklockAdapter.ServeClients(
    (nodes, timeout, options) => new StackExchangeLock(nodes[0], timeout, options), "stackexchange-redis",
    PicklockAdapter.VersionOf(typeof(ConnectionMultiplexer)), "backlog");

internal sealed class StackExchangeLock : IExtendable, ICancellable
{
    private readonly Lazy<IDatabase> redis;

    public StackExchangeLock(string node, TimeSpan timeout, IReadOnlyDictionary<string, string> options)
    {
        var settings = Multiplexer.Settings(node, timeout);
        if (PicklockAdapter.Choice(options, "backlog", "queue", "fail-fast") == "fail-fast")
        {
            settings.BacklogPolicy = BacklogPolicy.FailFast;
        }
        redis = new(() => ConnectionMultiplexer.Connect(settings).GetDatabase());
    }

    public Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait) =>
        Acquire(key, ttl, wait, CancellationToken.None);

    public Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp)
    {
        var token = Guid.NewGuid().ToString("N");
        return PicklockAdapter.TryFor(wait, async () =>
            await redis.Value.LockTakeAsync(key, token, ttl) ? new Grant(token) : null, givenUp);
    }

    public Task<Grant?> Extend(string key, string token, TimeSpan ttl) =>
        PicklockAdapter.TryFor(TimeSpan.Zero, async () =>
            await redis.Value.LockExtendAsync(key, token, ttl) ? new Grant(token) : null);

    public async Task<bool?> Release(string key, string token) => await redis.Value.LockReleaseAsync(key, token);
}
