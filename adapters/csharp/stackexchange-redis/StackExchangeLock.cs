// Picklock adapter for StackExchange.Redis' LockTake, on the first node.
// UNTESTED: see PicklockAdapter.cs.

using MyLock;
using StackExchange.Redis;

await PicklockAdapter.Serve(
    (nodes, timeout, options) => new StackExchangeLock(new Uri(nodes[0]), timeout), "stackexchange-redis", "2.9.32");

internal sealed class StackExchangeLock(Uri node, TimeSpan timeout) : IExtendable
{
    private readonly Lazy<IDatabase> redis = new(() => ConnectionMultiplexer.Connect(new ConfigurationOptions
    {
        EndPoints = { { node.Host, node.Port } },
        AbortOnConnectFail = false,
        // No command is sent after it has failed.
        BacklogPolicy = BacklogPolicy.FailFast,
        ConnectTimeout = (int)timeout.TotalMilliseconds,
        AsyncTimeout = (int)timeout.TotalMilliseconds,
    }).GetDatabase());

    public Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait)
    {
        var token = Guid.NewGuid().ToString("N");
        return PicklockAdapter.TryFor(wait, async () =>
            await redis.Value.LockTakeAsync(key, token, ttl) ? new Grant(token) : null);
    }

    public Task<Grant?> Extend(string key, string token, TimeSpan ttl) =>
        PicklockAdapter.TryFor(TimeSpan.Zero, async () =>
            await redis.Value.LockExtendAsync(key, token, ttl) ? new Grant(token) : null);

    public async Task<bool?> Release(string key, string token) => await redis.Value.LockReleaseAsync(key, token);
}
