// Picklock's adapter protocol, versions 1 and 2, for a lock in C# 7 or later: on Mono 6, or on .NET 8 or later. Needs
// no packages. Tested on Mono only, not on .NET.
//
// `Serve` reads requests from standard input and answers them; docs/protocol.md of Picklock describes
// them. Console output of your lock or its library is redirected to standard error, which goes to the worker's log.

using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace MyLock
{
    /// <summary>Throw this if the request certainly had no effect: no key was changed. Every other exception is
    /// reported as one that may have had an effect.</summary>
    public sealed class DefiniteException : Exception
    {
        public DefiniteException(string message) : base(message) { }
    }

    /// <summary>A granted lock.</summary>
    public sealed class Grant
    {
        public Grant(string token, ulong? fence = null, long? askedAt = null)
        {
            Token = token;
            Fence = fence;
            AskedAt = askedAt;
        }

        /// <summary>Passed back to Release and Extend.</summary>
        public string Token { get; }

        /// <summary>Fencing token, if the lock has them: larger with every grant.</summary>
        public ulong? Fence { get; }

        /// <summary>When the command that took the lock was sent, by Stopwatch.GetTimestamp(). TryFor sets it if the
        /// lock does not. Without it the answer has no valid_ms, and Picklock bounds the lease by its own
        /// clock.</summary>
        public long? AskedAt { get; }
    }

    /// <summary>The lock that you implement. A null grant means that another client has the lock.</summary>
    public interface ILock
    {
        Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait);

        /// <summary>Returns null if the library does not report whether the lock was still held.</summary>
        Task<bool?> Release(string key, string token);
    }

    /// <summary>A lock that can be extended.</summary>
    public interface IExtendable : ILock
    {
        Task<Grant> Extend(string key, string token, TimeSpan ttl);
    }

    /// <summary>A lock whose client can give up waiting.</summary>
    public interface ICancellable : ILock
    {
        /// <summary>When the client gives up, returns null if the lock certainly was not taken, or the result of a
        /// command in flight.</summary>
        Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp);
    }

    /// <summary>A lock that handles an exception that leaves the section.</summary>
    public interface IFailingSections : ILock
    {
        /// <summary>Does what an application does when its section fails, and returns the same as Release.</summary>
        Task<bool?> SectionFailed(string key, string token);
    }

    /// <summary>A lock that can be released although it was refused, as by a `finally` that unlocks in any
    /// case.</summary>
    public interface IUnheldRelease : ILock
    {
        /// <summary>Returns the same as Release.</summary>
        Task<bool?> ReleaseUnheld(string key);
    }

    /// <summary>Creates the lock. The nodes are URLs such as redis://HOST:PORT.</summary>
    public delegate ILock MakeLock(string[] nodes, TimeSpan timeout, IReadOnlyDictionary<string, string> options);

    public sealed class PicklockAdapter
    {
        // Latest supported version; all earlier ones are supported, too.
        private const long Protocol = 2;

        // Standard output is reserved for the protocol.
        private static readonly Stream Output = Console.OpenStandardOutput();
        private static readonly object OneLineAtATime = new object();

        // Client of each grant, by its token, for events of background tasks.
        private static readonly ConcurrentDictionary<string, object> ClientOf =
            new ConcurrentDictionary<string, object>();

        // Cancellation source of each unanswered request, by its number.
        private static readonly ConcurrentDictionary<object, CancellationTokenSource> Waits =
            new ConcurrentDictionary<object, CancellationTokenSource>();
        private static readonly Random Jitter = new Random(Guid.NewGuid().GetHashCode());

        private readonly MakeLock makeLock;
        private readonly Dictionary<string, object> ready;
        private readonly HashSet<string> options;
        private readonly bool hasClients;
        private ILock made;

        private PicklockAdapter(
            MakeLock makeLock, Dictionary<string, object> ready, IEnumerable<string> options, bool hasClients)
        {
            this.makeLock = makeLock;
            this.ready = ready;
            this.options = new HashSet<string>(options);
            this.hasClients = hasClients;
        }

        /// <summary>Calls <paramref name="attempt"/> until it returns a grant or the wait is over; with zero,
        /// once. For locks that do not wait themselves. It gives up between two attempts, and never within
        /// one.</summary>
        public static async Task<Grant> TryFor(
            TimeSpan wait, Func<Task<Grant>> attempt, CancellationToken givenUp = default(CancellationToken))
        {
            var began = Stopwatch.GetTimestamp();
            while (true)
            {
                var askedAt = Stopwatch.GetTimestamp();
                var grant = await attempt();
                if (grant != null)
                {
                    return new Grant(grant.Token, grant.Fence, grant.AskedAt ?? askedAt);
                }
                int pause;
                lock (Jitter)
                {
                    pause = Jitter.Next(10, 50);
                }
                if (ElapsedMs(began) + pause >= wait.TotalMilliseconds)
                {
                    return null;
                }
                // A cancelled delay ends, and is not a failure.
                await Task.WhenAny(Task.Delay(pause, givenUp));
                if (givenUp.IsCancellationRequested)
                {
                    return null;
                }
            }
        }

        /// <summary>Reports to Picklock that a lease is lost. For locks that renew in the background.</summary>
        public static void Lost(string token) => Tell(token, Message("event", "lost", "token", token));

        /// <summary>Reports to Picklock that a background task has renewed a lease for <paramref name="ttl"/>, counted
        /// from <paramref name="askedAt"/>.</summary>
        public static void Extended(string token, TimeSpan ttl, long askedAt) => Tell(
            token, Message("event", "extended", "token", token, "valid_ms", LeftMs(ttl, askedAt)));

        // The warm-up lock of a process belongs to no client, so its events are not reported.
        private static volatile bool isWarmingUp;
        private static volatile string warmUpToken;

        private static void Tell(string token, Dictionary<string, object> message)
        {
            if (!isWarmingUp && token != warmUpToken)
            {
                Write(Named(token), message);
            }
        }

        /// <summary>Answers requests until standard input ends, then ends the process. The options are the
        /// names that --impl-option may have.</summary>
        public static Task Serve(MakeLock makeLock, string name, string version, params string[] options) =>
            Serve(makeLock, false, name, version, options);

        /// <summary>Like Serve, for a lock that many clients of one process may use at once: it is created once, and
        /// each request is answered by its own task.</summary>
        public static Task ServeClients(MakeLock makeLock, string name, string version, params string[] options) =>
            Serve(makeLock, true, name, version, options);

        private static async Task Serve(
            MakeLock makeLock, bool hasClients, string name, string version, string[] options)
        {
            Console.SetOut(Console.Error);
            var ready = Message("reply", "ready", "name", name, "version", version);
            var adapter = new PicklockAdapter(makeLock, ready, options, hasClients);
            var input = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
            for (var line = await input.ReadLineAsync(); line != null; line = await input.ReadLineAsync())
            {
                var readAt = Stopwatch.GetTimestamp();
                var request = SmallJson.Parse(line) as Dictionary<string, object>;
                if (!(Field(request, "id") is long))
                {
                    Console.Error.WriteLine($"not a request: {line}");
                    continue;
                }
                if (Field(request, "op") as string == "cancel")
                {
                    EndWait(Field(request, "of"));
                    continue;
                }
                var wait = new CancellationTokenSource();
                Waits[request["id"]] = wait;
                var reply = Task.Run(() => adapter.Reply(request, readAt, wait.Token));
                if (!hasClients || Field(request, "op") as string == "init")
                {
                    await reply;
                }
            }
            // The library's own threads must not keep the process alive.
            Environment.Exit(0);
        }

        private async Task Reply(Dictionary<string, object> request, long readAt, CancellationToken givenUp)
        {
            Dictionary<string, object> answer;
            try
            {
                answer = await Answer(request, readAt, givenUp);
            }
            catch (Exception problem)
            {
                var isDefinite = problem is DefiniteException;
                if (!isDefinite)
                {
                    Console.Error.WriteLine(problem);
                }
                answer = Message("reply", "error", "message", problem.Message, "definite", isDefinite);
            }
            var client = Field(request, "client");
            var token = Field(answer, "token") as string;
            if (client != null && token != null)
            {
                ClientOf[token] = client;
            }
            answer["id"] = request["id"];
            // The token is removed but not cancelled, because a lock may renew for as long as the token lasts.
            Waits.TryRemove(request["id"], out _);
            Write(client, answer);
        }

        private async Task<Dictionary<string, object>> Answer(
            Dictionary<string, object> request, long readAt, CancellationToken givenUp)
        {
            var op = Field(request, "op") as string;
            switch (op)
            {
                case "ping":
                    return Message("reply", "pong");
                case "init":
                    return await Init(request);
                case "join":
                    return Message("reply", "joined");
                case "acquire":
                case "extend":
                case "release":
                case "release-unheld":
                case "section-failed":
                    break;
                default:
                    throw new DefiniteException($"unknown op {op}");
            }
            if (made == null)
            {
                throw new DefiniteException("`init` must come first");
            }
            var key = Needed<string>(request, "key");
            if (op != "acquire" && op != "extend")
            {
                return Message("reply", "released", "released", await Released(op, key, request));
            }
            var ttl = Millis(request, "ttl_ms");
            if (op == "acquire")
            {
                var grant = await Acquire(key, ttl, Millis(request, "wait_ms"), givenUp);
                var isCancelled = grant == null && givenUp.IsCancellationRequested;
                return isCancelled ? Message("reply", "cancelled") : Granted(grant, ttl, readAt);
            }
            var extendable = made as IExtendable;
            if (extendable == null)
            {
                return Message("reply", "unsupported");
            }
            return Granted(await extendable.Extend(key, Needed<string>(request, "token"), ttl), ttl, readAt);
        }

        private Task<bool?> Released(string op, string key, Dictionary<string, object> request)
        {
            if (op == "section-failed" && made is IFailingSections failing)
            {
                return failing.SectionFailed(key, Needed<string>(request, "token"));
            }
            if (op == "release-unheld" && made is IUnheldRelease unheld)
            {
                return unheld.ReleaseUnheld(key);
            }
            if (op != "release")
            {
                throw new DefiniteException($"{op} is not offered");
            }
            return made.Release(key, Needed<string>(request, "token"));
        }

        private Task<Grant> Acquire(string key, TimeSpan ttl, TimeSpan wait, CancellationToken givenUp)
        {
            var cancellable = made as ICancellable;
            return cancellable == null ? made.Acquire(key, ttl, wait) : cancellable.Acquire(key, ttl, wait, givenUp);
        }

        private static void EndWait(object id)
        {
            if (Waits.TryRemove(id, out var wait))
            {
                wait.Cancel();
            }
        }

        // Takes and releases a separate lock: the first one takes so long to compile that a competing client that does
        // it during the run would miss the fault under test.
        private async Task WarmUp(string key, TimeSpan ttl)
        {
            isWarmingUp = true;
            try
            {
                var grant = await Acquire(key, ttl, ttl, CancellationToken.None);
                if (grant != null)
                {
                    warmUpToken = grant.Token;
                    await made.Release(key, grant.Token);
                }
            }
            catch (Exception problem)
            {
                // A defect of the lock shows up in the run.
                Console.Error.WriteLine($"warm-up: {problem}");
            }
            isWarmingUp = false;
        }

        private async Task<Dictionary<string, object>> Init(Dictionary<string, object> request)
        {
            var versions = Field(request, "protocols") as List<object> ?? new List<object> { Field(request, "protocol") };
            if (!versions.Contains(1L) && !versions.Contains(Protocol))
            {
                throw new DefiniteException($"only versions up to {Protocol} of the protocol are supported");
            }
            var given = Field(request, "options") as Dictionary<string, object> ?? new Dictionary<string, object>();
            var unknown = given.Keys.FirstOrDefault(option => !options.Contains(option));
            if (unknown != null)
            {
                throw new DefiniteException($"unknown option {unknown}; there are [{string.Join(", ", options)}]");
            }
            var nodes = Needed<List<object>>(request, "nodes").Cast<string>().ToArray();
            var values = given.ToDictionary(option => option.Key, option => option.Value as string);
            made = makeLock(nodes, Millis(request, "timeout_ms"), values);
            if (Field(request, "warm_up") is string key && Field(request, "ttl_ms") is long)
            {
                await WarmUp(key, Millis(request, "ttl_ms"));
            }
            if (versions.Contains(Protocol))
            {
                ready["protocol"] = Protocol;
                ready["clients"] = hasClients;
                ready["cancels"] = hasClients && made is ICancellable;
                ready["fails_sections"] = made is IFailingSections;
                ready["releases_unheld"] = made is IUnheldRelease;
            }
            return ready;
        }

        private static object Field(Dictionary<string, object> of, string name)
        {
            object value = null;
            of?.TryGetValue(name, out value);
            return value;
        }

        private static T Needed<T>(Dictionary<string, object> request, string name) =>
            Field(request, name) is T value ? value : throw new DefiniteException($"the request has no `{name}`");

        private static TimeSpan Millis(Dictionary<string, object> request, string name) =>
            TimeSpan.FromMilliseconds(Needed<long>(request, name));

        private static Dictionary<string, object> Granted(Grant grant, TimeSpan ttl, long readAt)
        {
            if (grant == null)
            {
                return Message("reply", "refused");
            }
            // Computed before `valid_ms`, so that the time between the two cannot lengthen the lease.
            var answer = Message("reply", "granted", "token", grant.Token, "elapsed_ms", ElapsedMs(readAt));
            if (grant.Fence != null)
            {
                answer["fence"] = grant.Fence;
            }
            if (grant.AskedAt != null)
            {
                answer["valid_ms"] = LeftMs(ttl, grant.AskedAt.Value);
            }
            return answer;
        }

        /// <summary>Returns whole milliseconds, rounded down. A Stopwatch is monotonic.</summary>
        private static long ElapsedMs(long since) =>
            (Stopwatch.GetTimestamp() - since) / (Stopwatch.Frequency / 1000);

        /// <summary>Returns whole milliseconds, rounded down.</summary>
        private static long LeftMs(TimeSpan ttl, long askedAt)
        {
            var lasts = (long)ttl.TotalMilliseconds * (Stopwatch.Frequency / 1000);
            return Math.Max(0, (lasts - (Stopwatch.GetTimestamp() - askedAt)) / (Stopwatch.Frequency / 1000));
        }

        private static Dictionary<string, object> Message(params object[] pairs)
        {
            var message = new Dictionary<string, object>();
            for (var i = 0; i < pairs.Length; i += 2)
            {
                message[(string)pairs[i]] = pairs[i + 1];
            }
            return message;
        }

        private static object Named(string token) => ClientOf.TryGetValue(token, out var client) ? client : null;

        /// <summary>Writes a message about a client, or about the only client if it is null.</summary>
        private static void Write(object client, Dictionary<string, object> message)
        {
            if (client != null)
            {
                message["client"] = client;
            }
            var line = Encoding.UTF8.GetBytes(SmallJson.Write(message) + "\n");
            lock (OneLineAtATime)
            {
                Output.Write(line, 0, line.Length);
                Output.Flush();
            }
        }
    }
}
