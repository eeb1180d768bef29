using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Picklock
{
    /// <summary>Settings of a run.</summary>
    public sealed class RunSettings
    {
        /// <summary>The built-in lock whose properties the lock must keep. Default: set-nx-px, redlock with several nodes,
        /// and semaphore, rwlock or leader for a lock of that kind.</summary>
        public string? Reference { get; set; }

        /// <summary>Required statuses, in place of a reference: { "lease", "held" }.</summary>
        public IDictionary<string, string> Expect { get; } = new SortedDictionary<string, string>();

        /// <summary>Where Redis runs: auto, process, docker or external.</summary>
        public string Backend { get; set; } = "auto";

        public long Seed { get; set; } = 1;

        public int Nodes { get; set; } = 1;

        /// <summary>Lease time, such as 2s. Default: the scenario's.</summary>
        public string? Ttl { get; set; }

        public IDictionary<string, string> Options { get; } = new SortedDictionary<string, string>();

        /// <summary>Directory of the runs that failed or could not be judged, from the output of the tests.</summary>
        public string Out { get; set; } = ".picklock";

        /// <summary>Whether to skip an inconclusive run. By default it fails.</summary>
        public bool SkipUnknown { get; set; }

        /// <summary>Receives each fact about the lock that no property judges, such as requests that failed without a
        /// fault. Default: a warning of the test with xUnit 3, and the error output with other frameworks.</summary>
        public Action<string> OnWarning { get; set; } = Warn;

        /// <summary>Ends the run. Default: the token of the test with xUnit 3.</summary>
        public CancellationToken Cancellation { get; set; } = TestToken();

        // Members of TestContext.Current of xUnit 3, on which this package does not depend.
        private static CancellationToken TestToken()
        {
            var context = TestContext();
            var token = TestContextType(context)?.GetProperty("CancellationToken");
            return token?.GetValue(context) is CancellationToken found ? found : CancellationToken.None;
        }

        private static void Warn(string text)
        {
            var context = TestContext();
            var add = TestContextType(context)?.GetMethod("AddWarning", new[] { typeof(string) });
            if (add == null)
            {
                Console.Error.WriteLine($"picklock: warning: {text}");
            }
            else
            {
                add.Invoke(context, new object[] { text });
            }
        }

        private static object? TestContext() =>
            Type.GetType("Xunit.TestContext, xunit.v3.core")?.GetProperty("Current")?.GetValue(null);

        private static Type? TestContextType(object? context) => context?.GetType().GetInterface("Xunit.ITestContext");
    }

    /// <summary>Runs a lock through scenarios.</summary>
    public static class LockTest
    {
        /// <summary>Returns the scenarios of a profile that suit a reference lock, as data for a theory: one test per
        /// scenario.</summary>
        public static IEnumerable<object[]> Profile(string name = "quick", string reference = "set-nx-px") =>
            Plan("--profile", name, reference);

        /// <summary>Returns the scenarios with these names, which may be patterns such as late-*, or paths of
        /// files.</summary>
        public static IEnumerable<object[]> Scenarios(params string[] names) => ScenariosFor("set-nx-px", names);

        /// <summary>Like Scenarios, for a lock of another kind than this: semaphore, rwlock or leader.</summary>
        public static IEnumerable<object[]> ScenariosFor(string reference, params string[] names) =>
            names.SelectMany(name => Named(name, reference)).Distinct().Select(name => new object[] { name }).ToList();

        // xUnit hides the message of data that cannot be made, so the run of an unknown scenario gives it.
        private static IEnumerable<string> Named(string name, string reference)
        {
            try
            {
                return Plan("--scenario", name, reference).Select(row => (string)row[0]);
            }
            catch (PicklockException)
            {
                return new[] { name };
            }
        }

        private static IEnumerable<object[]> Plan(string flag, string value, string reference)
        {
            var words = new[] { "matrix", "--backend", "sim", "--impl", reference, "--json", "--quiet", flag, value };
            return Engine.Cells(words, CancellationToken.None).GetAwaiter().GetResult()
                .Select(cell => new object[] { (string)cell["scenario"]! }).ToList();
        }

        /// <summary>Runs a scenario, and returns the status of each property. Throws ViolationException if the lock does
        /// not keep what is required, and PicklockException if the run could not take place or not be judged.</summary>
        public static async Task<IReadOnlyDictionary<string, string>> Run<TLock>(string scenario, RunSettings? settings = null)
            where TLock : ILock
        {
            settings = settings ?? new RunSettings();
            var type = typeof(TLock);
            var reference = settings.Expect.Count > 0 ? null : settings.Reference ?? Standard(type, settings.Nodes);
            var name = Regex.Replace(type.Name, "[^A-Za-z0-9._-]", "_");
            var directory = Path.Combine(Path.GetFullPath(settings.Out), FileName(type.FullName!), FileName(scenario));
            Delete(directory);
            Directory.CreateDirectory(directory);
            File.WriteAllText(Path.Combine(Path.GetFullPath(settings.Out), ".gitignore"), "*\n");
            var configuration = Path.Combine(directory, "picklock.toml");
            File.WriteAllText(configuration, Table(type, name, settings));
            var words = new List<string>
            {
                "matrix", "--config", configuration, "--impl", name, "--scenario", scenario, "--seed", settings.Seed.ToString(),
                "--backend", settings.Backend, "--json", "--quiet", "--out", Path.Combine(directory, "runs"),
            };
            words.AddRange(reference == null ? new string[0] : new[] { "--reference", reference });
            words.AddRange(settings.Ttl == null ? new string[0] : new[] { "--ttl", settings.Ttl });
            var cell = await Engine.Cell(settings.Backend, words, settings.Cancellation).ConfigureAwait(false);
            if (cell.TryGetValue("run_dir", out var runDirectory) && runDirectory is string saved)
            {
                Directory.Move(Path.Combine(directory, "runs", saved), Path.Combine(directory, "run"));
                Delete(Path.Combine(directory, "runs"));
            }
            var judgement = new Judgement($"{name} in {scenario}", cell, reference, settings, directory);
            await judgement.Check().ConfigureAwait(false);
            foreach (var warning in judgement.Warnings)
            {
                settings.OnWarning(warning);
            }
            Delete(directory);
            return judgement.Statuses;
        }

        /// <summary>Returns the built-in lock that a lock of this class is compared with by default.</summary>
        private static string Standard(Type type, int nodes)
        {
            var kind = PicklockAdapter.KindOf(type);
            if (kind != "mutex")
            {
                return kind;
            }
            return nodes == 1 ? "set-nx-px" : "redlock";
        }

        /// <summary>Returns the table that defines the lock for the engine: how its worker is started.</summary>
        private static string Table(Type type, string name, RunSettings settings)
        {
            var assembly = type.Assembly.Location;
            // The files that describe the program of the tests are next to it, and have its name.
            var program = Path.ChangeExtension(assembly, null);
            var command = new List<string> { Engine.Dotnet(), "exec" };
            foreach (var (flag, file) in new[] { ("--runtimeconfig", ".runtimeconfig.json"), ("--depsfile", ".deps.json") })
            {
                command.AddRange(File.Exists(program + file) ? new[] { flag, program + file } : new string[0]);
            }
            command.AddRange(new[] { typeof(LockTest).Assembly.Location, assembly, type.FullName! });
            command.AddRange(settings.Options.Keys);
            var text = new StringBuilder($"[impl.{Toml(name)}]\n");
            text.Append($"command = {Toml(string.Join(" ", command.Select(Judgement.Quoted)))}\n");
            text.Append($"directory = {Toml(Directory.GetCurrentDirectory())}\nnodes = {settings.Nodes}\n");
            text.Append($"kind = {Toml(PicklockAdapter.KindOf(type))}\n");
            // The files of the diagnostics would stay after a worker that a fault kills.
            text.Append("environment = { DOTNET_EnableDiagnostics = \"0\" }\n");
            if (settings.Options.Count > 0)
            {
                var pairs = settings.Options.Select(option => $"{Toml(option.Key)} = {Toml(option.Value)}");
                text.Append($"options = {{ {string.Join(", ", pairs)} }}\n");
            }
            return text.ToString();
        }

        private static string Toml(string text) => SmallJson.Write(text);

        private static string FileName(string text) => Regex.Replace(text, "[^A-Za-z0-9._-]", "_");

        private static void Delete(string directory)
        {
            if (Directory.Exists(directory))
            {
                Directory.Delete(directory, recursive: true);
            }
        }
    }
}
