using Picklock;
using StackExchange.Redis;
using Xunit;

public class BrokenLock(string[] nodes, TimeSpan timeout) : TryLock
{
    protected readonly IDatabase redis = Connect(nodes[0], timeout).GetDatabase();

    static ConnectionMultiplexer Connect(string node, TimeSpan timeout)
    {
        var milliseconds = (int)timeout.TotalMilliseconds;
        return ConnectionMultiplexer.Connect(new ConfigurationOptions
        {
            EndPoints = { new Uri(node).Authority }, AsyncTimeout = milliseconds, ConnectTimeout = milliseconds,
        });
    }

    public override async Task<string?> TryAcquire(string key, TimeSpan ttl)
    {
        var token = Guid.NewGuid().ToString();
        return await redis.StringSetAsync(key, token, ttl, When.NotExists) ? token : null;
    }

    // Deletes the key without comparing the token.
    public override async Task<bool?> Release(string key, string token) => await redis.KeyDeleteAsync(key);
}

public class MyLock(string[] nodes, TimeSpan timeout) : BrokenLock(nodes, timeout)
{
    public override async Task<bool?> Release(string key, string token) => await redis.LockReleaseAsync(key, token);
}

public class LockTests
{
    public static IEnumerable<object[]> One => LockTest.Scenarios("gc-pause");

    public static IEnumerable<object[]> Two => LockTest.Scenarios("calm", "gc-pause");

    [Theory, MemberData(nameof(Two))]
    public Task MyLockKeeps(string scenario) => LockTest.Run<MyLock>(scenario);

    [Theory, MemberData(nameof(One))]
    public Task BrokenLockKeeps(string scenario) => LockTest.Run<BrokenLock>(scenario);
}
