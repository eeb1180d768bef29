using Picklock;
using StackExchange.Redis;
using Xunit;

/// <summary>Put your own lock in place of this one.</summary>
public class RedisLockUnderTest(string[] nodes, TimeSpan timeout) : TryLock
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

    public override async Task<bool?> Release(string key, string token) => await redis.LockReleaseAsync(key, token);
}

public class MyLockTests
{
    public static IEnumerable<object[]> Quick => LockTest.Profile("quick");

    [Theory, MemberData(nameof(Quick))]
    public Task Keeps(string scenario) => LockTest.Run<RedisLockUnderTest>(scenario);
}
