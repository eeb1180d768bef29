using System.Diagnostics;
using System.Text.RegularExpressions;
using Picklock;
using StackExchange.Redis;
using Xunit;

/// <summary>Prints to standard output, which is reserved for the protocol, and takes the lock from its holder.</summary>
public class Chatty(string[] nodes) : TryLock
{
    readonly IDatabase redis = ConnectionMultiplexer.Connect(new Uri(nodes[0]).Authority).GetDatabase();

    public override async Task<string?> TryAcquire(string key, TimeSpan ttl)
    {
        Console.WriteLine("a line of the library");
        var token = Guid.NewGuid().ToString();
        await redis.StringSetAsync(key, token, ttl);
        return token;
    }

    public override async Task<bool?> Release(string key, string token) => await redis.KeyDeleteAsync(key);
}

/// <summary>Throws an exception if the lock is taken, instead of waiting.</summary>
public class ThrowingWhenTaken(string[] nodes) : TryLock
{
    readonly IDatabase redis = ConnectionMultiplexer.Connect(new Uri(nodes[0]).Authority).GetDatabase();

    public override async Task<string?> TryAcquire(string key, TimeSpan ttl)
    {
        var token = Guid.NewGuid().ToString();
        return await redis.StringSetAsync(key, token, ttl, When.NotExists)
            ? token : throw new NullReferenceException("Object reference not set");
    }

    public override async Task<bool?> Release(string key, string token) => await redis.KeyDeleteAsync(key);
}

/// <summary>A semaphore that counts its holders.</summary>
public class Counter(string[] nodes) : TryLock, ISemaphore
{
    readonly IDatabase redis = ConnectionMultiplexer.Connect(new Uri(nodes[0]).Authority).GetDatabase();
    int capacity;

    public void SetCapacity(int permits) => capacity = permits;

    public override async Task<string?> TryAcquire(string key, TimeSpan ttl)
    {
        if (await redis.StringIncrementAsync(key) <= capacity)
        {
            return Guid.NewGuid().ToString();
        }
        await redis.StringDecrementAsync(key);
        return null;
    }

    public override async Task<bool?> Release(string key, string token)
    {
        await redis.StringDecrementAsync(key);
        return null;
    }
}

/// <summary>A leader election whose leader acts without a look at the key.</summary>
public class TrustfulLeader(string[] nodes) : TryLock, ILeaderElection
{
    readonly IDatabase redis = ConnectionMultiplexer.Connect(new Uri(nodes[0]).Authority).GetDatabase();

    public override async Task<string?> TryAcquire(string key, TimeSpan ttl)
    {
        var token = Guid.NewGuid().ToString();
        return await redis.StringSetAsync(key, token, ttl, When.NotExists) ? token : null;
    }

    public Task<Acting> Act(string key, string token) => Task.FromResult(new Acting());

    public override async Task<bool?> Release(string key, string token) => await redis.KeyDeleteAsync(key);
}

public class Failing : TryLock
{
    public Failing(string[] nodes) => throw new InvalidOperationException("no such setting");

    public override Task<string?> TryAcquire(string key, TimeSpan ttl) => Task.FromResult<string?>(null);

    public override Task<bool?> Release(string key, string token) => Task.FromResult<bool?>(null);
}

/// <summary>Fails in each request, with a root cause and a long stack trace.</summary>
public class Unreachable(string[] nodes) : TryLock
{
    public override async Task<string?> TryAcquire(string key, TimeSpan ttl)
    {
        try
        {
            return await Fail(nodes, 10);
        }
        catch (IOException problem)
        {
            throw new InvalidOperationException("no connection", problem);
        }
    }

    static async Task<string?> Fail(string[] nodes, int depth) =>
        depth == 0 ? throw new IOException($"wrong password for {nodes.Length} node") : await Fail(nodes, depth - 1);

    public override Task<bool?> Release(string key, string token) => Task.FromResult<bool?>(null);
}

/// <summary>Uses no server at all.</summary>
public class Elsewhere(string[] nodes) : TryLock
{
    public override Task<string?> TryAcquire(string key, TimeSpan ttl) =>
        Task.FromResult<string?>($"{Guid.NewGuid()}, not on {nodes[0]}");

    public override Task<bool?> Release(string key, string token) => Task.FromResult<bool?>(true);
}

/// <summary>Tests of the package. They start the engine, and need a Redis server.</summary>
public class FrontEndTests
{
    static RunSettings Process() => new() { Backend = "process" };

    [Fact]
    public async Task ViolationExplainsItselfAndRepeatsFromItsLine()
    {
        var problem = await Assert.ThrowsAsync<ViolationException>(() => LockTest.Run<Chatty>("calm", Process()));
        foreach (var part in new[] { "The lock's fault:", "Remedy: ", "a line of the library", "saved run",
            "The reference lock set-nx-px would keep: exclusion" })
        {
            Assert.Contains(part, problem.Message);
        }
        Assert.True(File.Exists(new Uri(Regex.Match(problem.Message, "timeline +(\\S+)").Groups[1].Value).LocalPath));
        var start = new ProcessStartInfo("sh") { RedirectStandardOutput = true };
        start.ArgumentList.Add("-c");
        start.ArgumentList.Add(Regex.Match(problem.Message, "repeat +(.+)").Groups[1].Value);
        using var repeated = System.Diagnostics.Process.Start(start)!;
        // Other verdicts of this lock depend on a race, so the repetition may differ in them.
        Assert.Matches("✘ exclusion", await repeated.StandardOutput.ReadToEndAsync());
    }

    [Fact]
    public async Task PassingLockThatThrowsWhenTakenGetsAWarning()
    {
        Assert.Equal("held", (await LockTest.Run<ThrowingWhenTaken>("calm", Process()))["claims"]);
        var warning = Assert.Single(TestContext.Current.Warnings!);
        Assert.Matches("acquire requests failed although no fault .* Object reference not set", warning);
    }

    [Fact]
    public async Task ExpectationAcceptsAKnownViolation()
    {
        var settings = new RunSettings { Backend = "process", Expect = { ["exclusion"] = "violated" } };
        Assert.Equal("violated", (await LockTest.Run<Chatty>("calm", settings))["exclusion"]);
    }

    [Fact]
    public async Task SemaphoreIsComparedWithASemaphore()
    {
        Assert.Equal("held", (await LockTest.Run<Counter>("permits", Process()))["exclusion"]);
        var names = LockTest.Profile("quick", "semaphore").Select(row => (string)row[0]).ToHashSet();
        Assert.Contains("permits-pause", names);
        Assert.Equal("permits", LockTest.ScenariosFor("semaphore", "permits").Single()[0]);
    }

    [Fact]
    public async Task LeaderThatDoesNotLookIsAViolation()
    {
        var problem = await Assert.ThrowsAsync<ViolationException>(
            () => LockTest.Run<TrustfulLeader>("leader-pause", Process()));
        Assert.Contains("The reference lock leader would keep: exclusion", problem.Message);
    }

    [Fact]
    public async Task MissingFeatureIsNotApplicable() =>
        await Assert.ThrowsAsync<NotApplicableException>(() => LockTest.Run<Chatty>("reentrant", Process()));

    [Fact]
    public async Task FailingConstructorIsInTheError()
    {
        var problem = await Assert.ThrowsAsync<PicklockException>(() => LockTest.Run<Failing>("calm", Process()));
        Assert.Matches("refused to start: InvalidOperationException: no such setting; the constructor of Failing threw "
            + "this; connect to nodes\\[0\\] \\(redis://", problem.Message);
    }

    [Fact]
    public async Task FailingRequestsAreInTheErrorWithTheirRootCause()
    {
        var scenario = Path.GetFullPath("short.toml");
        File.WriteAllText(scenario, """
            name = "short"
            summary = "Ends soon, because a lock that fails each time does not sell anything."
            [workload]
            workers = 2
            stock = 2
            section = "0.05ttl"
            limit = "2ttl"
            [judge]
            min_grants = 2
            """);
        var problem = await Assert.ThrowsAsync<InconclusiveException>(() => LockTest.Run<Unreachable>(scenario, Process()));
        Assert.Matches("Output of client 0:\n  System.IO.IOException: wrong password for 1 node\n   ", problem.Message);
        Assert.DoesNotContain("busy machine", problem.Message);
    }

    [Fact]
    public async Task OtherServerIsNotBlamedOnTheMachine()
    {
        var problem = await Assert.ThrowsAsync<InconclusiveException>(() => LockTest.Run<Elsewhere>("calm", Process()));
        Assert.Contains("the lock does not use the servers that it was given", problem.Message);
        Assert.DoesNotContain("busy machine", problem.Message);
    }

    [Fact]
    public async Task UnknownScenarioIsAnError()
    {
        var problem = await Assert.ThrowsAsync<PicklockException>(() => LockTest.Run<Chatty>("no-such-scenario"));
        Assert.Contains("no-such-scenario", problem.Message);
    }

    [Fact]
    public void ProfileNamesItsScenarios() => Assert.Superset(
        new HashSet<string> { "calm", "gc-pause" }, LockTest.Profile("quick").Select(row => (string)row[0]).ToHashSet());

    [Fact]
    public void EndOfTheTestEndsTheRun()
    {
        Assert.True(TestContext.Current.CancellationToken.CanBeCanceled);
        Assert.Equal(TestContext.Current.CancellationToken, new RunSettings().Cancellation);
    }

    [Fact]
    public void UnknownScenarioIsInTheData() =>
        Assert.Equal("no-such-scenario", LockTest.Scenarios("no-such-scenario").Single()[0]);

    [Fact]
    public async Task CancelledRunLeavesNoProcess()
    {
        using var cancellation = new CancellationTokenSource();
        var settings = Process();
        settings.Out = "cancelled";
        settings.Cancellation = cancellation.Token;
        var run = LockTest.Run<Chatty>("gc-pause", settings);
        while (Workers() == 0)
        {
            await Task.Delay(50, TestContext.Current.CancellationToken);
        }
        cancellation.Cancel();
        Assert.Contains("the test was cancelled", (await Assert.ThrowsAsync<PicklockException>(() => run)).Message);
        Assert.Equal(0, Workers());
    }

    static int Workers() => Directory.GetDirectories("/proc").Count(entry =>
    {
        try
        {
            var words = File.ReadAllText(Path.Combine(entry, "cmdline")).Split('\0');
            return words.Contains("exec") && words.Contains(typeof(FrontEndTests).Assembly.Location);
        }
        catch (Exception problem) when (problem is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    });
}
