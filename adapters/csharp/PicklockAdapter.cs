// Picklock's adapter protocol, version 1, for a lock in C# on .NET 8 or later. Only what comes with .NET.
// UNTRIED: Picklock's authors had no .NET at hand. It was written with care, and never compiled.
//
// `Serve` reads requests from standard input and answers them; docs/protocol.md of Picklock describes
// them. What your lock or its library prints to the console goes to standard error, into the worker's
// log.

using System.Diagnostics;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace MyLock;

/// <summary>Throw it if certainly nothing has happened: no key was changed. Every other exception is
/// reported as one that may have had an effect.</summary>
public sealed class DefiniteException(string message) : Exception(message);

/// <summary>A granted lock.</summary>
/// <param name="Token">What Release and Extend get back.</param>
/// <param name="Fence">The fencing token, if the lock has them: larger with every grant.</param>
/// <param name="AskedAt">When the command that took the lock was sent, by Stopwatch.GetTimestamp().
/// TryFor sets it if the lock does not. Without it Picklock is not told how long the lease is valid, and
/// bounds it by its own clock.</param>
public sealed record Grant(string Token, ulong? Fence = null, long? AskedAt = null);

/// <summary>What you implement. A null grant means that another client has the lock.</summary>
public interface ILock
{
    Task<Grant?> Acquire(string key, TimeSpan ttl, TimeSpan wait);

    /// <summary>Null if the library does not say whether the lock was still held.</summary>
    Task<bool?> Release(string key, string token);
}

/// <summary>A lock that can also be held for longer.</summary>
public interface IExtendable : ILock
{
    Task<Grant?> Extend(string key, string token, TimeSpan ttl);
}

/// <summary>Makes the lock. The nodes are URLs as redis://HOST:PORT.</summary>
public delegate ILock MakeLock(string[] nodes, TimeSpan timeout, IReadOnlyDictionary<string, string> options);

public sealed class PicklockAdapter
{
    private const int Protocol = 1;

    // Standard output is for the protocol alone.
    private static readonly Stream Output = Console.OpenStandardOutput();
    private static readonly object OneLineAtATime = new();

    private readonly MakeLock makeLock;
    private readonly Func<JsonObject> ready;
    private readonly HashSet<string> options;
    private ILock? made;

    private PicklockAdapter(MakeLock makeLock, Func<JsonObject> ready, HashSet<string> options)
    {
        this.makeLock = makeLock;
        this.ready = ready;
        this.options = options;
    }

    /// <summary>Calls <paramref name="attempt"/> until it returns a grant or the wait is over; with zero,
    /// once. For locks that do not wait by themselves.</summary>
    public static async Task<Grant?> TryFor(TimeSpan wait, Func<Task<Grant?>> attempt)
    {
        var began = Stopwatch.GetTimestamp();
        while (true)
        {
            var askedAt = Stopwatch.GetTimestamp();
            if (await attempt() is { } grant)
            {
                return grant with { AskedAt = grant.AskedAt ?? askedAt };
            }
            var pause = TimeSpan.FromMilliseconds(Random.Shared.Next(10, 50));
            if (Stopwatch.GetElapsedTime(began) + pause >= wait)
            {
                return null;
            }
            await Task.Delay(pause);
        }
    }

    /// <summary>Tells Picklock that a lease is gone: for locks that renew in the background.</summary>
    public static void Lost(string token) =>
        Write(new JsonObject { ["event"] = "lost", ["token"] = token });

    /// <summary>Tells Picklock that a background task has renewed a lease: for <paramref name="ttl"/>
    /// since <paramref name="askedAt"/>.</summary>
    public static void Extended(string token, TimeSpan ttl, long askedAt) =>
        Write(new JsonObject { ["event"] = "extended", ["token"] = token, ["valid_ms"] = LeftMs(ttl, askedAt) });

    /// <summary>Answers requests until standard input ends, then ends the process. The options are the
    /// names that --impl-option may have.</summary>
    public static async Task Serve(MakeLock makeLock, string name, string version, params string[] options)
    {
        Console.SetOut(Console.Error);
        JsonObject Ready() => new() { ["reply"] = "ready", ["name"] = name, ["version"] = version };
        var adapter = new PicklockAdapter(makeLock, Ready, [.. options]);
        using var input = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
        while (await input.ReadLineAsync() is { } line)
        {
            var readAt = Stopwatch.GetTimestamp();
            if (Parse(line) is not { } request || Id(request) is not { } id)
            {
                Console.Error.WriteLine($"not a request: {line}");
                continue;
            }
            var answer = await adapter.AnswerOrError(request, readAt);
            answer["id"] = id;
            Write(answer);
        }
        // A library's own threads must not keep the process alive.
        Environment.Exit(0);
    }

    private static JsonObject? Parse(string line)
    {
        try
        {
            return JsonNode.Parse(line) as JsonObject;
        }
        catch (JsonException)
        {
            return null;
        }
    }

    private static long? Id(JsonObject request) =>
        request["id"] is JsonValue value && value.TryGetValue<long>(out var id) ? id : null;

    private async Task<JsonObject> AnswerOrError(JsonObject request, long readAt)
    {
        try
        {
            return await Answer(request, readAt);
        }
        catch (Exception problem)
        {
            var isDefinite = problem is DefiniteException;
            if (!isDefinite)
            {
                Console.Error.WriteLine(problem);
            }
            return new() { ["reply"] = "error", ["message"] = problem.Message, ["definite"] = isDefinite };
        }
    }

    private async Task<JsonObject> Answer(JsonObject request, long readAt)
    {
        var op = (string?)request["op"];
        switch (op)
        {
            case "ping":
                return new() { ["reply"] = "pong" };
            case "init":
                return Init(request);
            case "acquire" or "extend" or "release":
                break;
            default:
                throw new DefiniteException($"unknown op {op}");
        }
        var theLock = made ?? throw new DefiniteException("`init` must come first");
        var key = Text(request, "key");
        switch (op)
        {
            case "release":
                var released = await theLock.Release(key, Text(request, "token"));
                return new() { ["reply"] = "released", ["released"] = released };
            case "acquire":
                var ttl = Millis(request, "ttl_ms");
                return Granted(await theLock.Acquire(key, ttl, Millis(request, "wait_ms")), ttl, readAt);
            default:
                if (theLock is not IExtendable extendable)
                {
                    return new() { ["reply"] = "unsupported" };
                }
                var longer = Millis(request, "ttl_ms");
                return Granted(await extendable.Extend(key, Text(request, "token"), longer), longer, readAt);
        }
    }

    private JsonObject Init(JsonObject request)
    {
        if ((int?)request["protocol"] != Protocol)
        {
            throw new DefiniteException($"only version {Protocol} of the protocol is supported");
        }
        var given = new Dictionary<string, string>();
        foreach (var (name, value) in request["options"] as JsonObject ?? new JsonObject())
        {
            if (!options.Contains(name))
            {
                throw new DefiniteException($"unknown option {name}; there are [{string.Join(", ", options)}]");
            }
            given[name] = (string?)value ?? "";
        }
        var nodes = request["nodes"] as JsonArray ?? throw new DefiniteException("the request has no `nodes`");
        var urls = nodes.Select(node => (string?)node ?? "").ToArray();
        made = makeLock(urls, Millis(request, "timeout_ms"), given);
        return ready();
    }

    private static string Text(JsonObject request, string name) =>
        (string?)request[name] ?? throw new DefiniteException($"the request has no `{name}`");

    private static TimeSpan Millis(JsonObject request, string name) => TimeSpan.FromMilliseconds(
        (double?)request[name] ?? throw new DefiniteException($"the request has no `{name}`"));

    private static JsonObject Granted(Grant? grant, TimeSpan ttl, long readAt)
    {
        if (grant is null)
        {
            return new() { ["reply"] = "refused" };
        }
        var answer = new JsonObject { ["reply"] = "granted", ["token"] = grant.Token };
        // Before `valid_ms`: time that passes between the two must not make the lease longer.
        answer["elapsed_ms"] = (long)Math.Floor(Stopwatch.GetElapsedTime(readAt).TotalMilliseconds);
        if (grant.Fence is { } fence)
        {
            answer["fence"] = fence;
        }
        if (grant.AskedAt is { } askedAt)
        {
            answer["valid_ms"] = LeftMs(ttl, askedAt);
        }
        return answer;
    }

    /// <summary>Rounded down. A Stopwatch is monotonic.</summary>
    private static long LeftMs(TimeSpan ttl, long askedAt) =>
        Math.Max(0, (long)Math.Floor((ttl - Stopwatch.GetElapsedTime(askedAt)).TotalMilliseconds));

    private static void Write(JsonObject message)
    {
        var line = Encoding.UTF8.GetBytes(message.ToJsonString() + "\n");
        lock (OneLineAtATime)
        {
            Output.Write(line);
            Output.Flush();
        }
    }
}
