using Picklock;
using StackExchange.Redis;
using Xunit;

/// <summary>The same lock, which deletes the key without comparing the token.</summary>
public class BrokenLock(string[] nodes, TimeSpan timeout) : RedisLockUnderTest(nodes, timeout)
{
    public override async Task<bool?> Release(string key, string token) => await redis.KeyDeleteAsync(key);
}

public class BrokenLockTests
{
    public static IEnumerable<object[]> Paused => LockTest.Scenarios("gc-pause");

    [Theory, MemberData(nameof(Paused))]
    public Task Keeps(string scenario) => LockTest.Run<BrokenLock>(scenario);
}
