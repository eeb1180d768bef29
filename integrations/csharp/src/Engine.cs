using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Picklock
{
    /// <summary>Finds and starts the engine, the program `picklock`.</summary>
    internal static class Engine
    {
        public const string Version = "0.1.0";

        // Time that an interrupted engine has to end its servers and workers.
        private static readonly TimeSpan Patience = TimeSpan.FromSeconds(15);

        // Exit code of an engine that cannot start a run, because of what is installed.
        private const int EnvironmentFailure = 4;

        // Requested backends with which no run can take place, for example without Redis.
        private static readonly ConcurrentDictionary<string, bool> Unavailable =
            new ConcurrentDictionary<string, bool>();

        private static readonly ConcurrentDictionary<string, bool> Checked = new ConcurrentDictionary<string, bool>();

        public sealed class Answer
        {
            public Answer(int code, string output, string messages)
            {
                Code = code;
                Output = output;
                Messages = messages;
            }

            public int Code { get; }

            public string Output { get; }

            public string Messages { get; }
        }

        /// <summary>Returns the path of the engine: PICKLOCK_BINARY, else that of this package, else that on the
        /// PATH.</summary>
        public static async Task<string> FindPath()
        {
            var path = Binary();
            if (!Checked.ContainsKey(path))
            {
                await Check(path).ConfigureAwait(false);
                Checked[path] = true;
            }
            return path;
        }

        private static async Task Check(string path)
        {
            string line;
            try
            {
                line = (await Start(path, new[] { "--version" }, CancellationToken.None).ConfigureAwait(false)).Output.Trim();
            }
            catch (System.ComponentModel.Win32Exception problem)
            {
                throw new PicklockException(
                    $"cannot start the engine {path}: {problem.Message}; it may be for another platform");
            }
            if (line != $"picklock {Version}")
            {
                throw new PicklockException($"the engine {path} is `{line}`, but this package needs version {Version}; "
                    + "install the same version of both, or unset PICKLOCK_BINARY");
            }
        }

        private static string Binary()
        {
            var given = Environment.GetEnvironmentVariable("PICKLOCK_BINARY");
            if (!string.IsNullOrEmpty(given))
            {
                return File.Exists(given) ? given! : throw new PicklockException($"PICKLOCK_BINARY: {given} is not a program");
            }
            var system = RuntimeInformation.IsOSPlatform(OSPlatform.OSX) ? "osx" : "linux";
            var machine = RuntimeInformation.OSArchitecture == Architecture.Arm64 ? "arm64" : "x64";
            var own = Path.Combine(AppContext.BaseDirectory, "runtimes", $"{system}-{machine}", "native", "picklock");
            if (!RuntimeInformation.IsOSPlatform(OSPlatform.Windows) && File.Exists(own))
            {
                MakeExecutable(own);
                return own;
            }
            return OnPath("picklock") ?? throw new PicklockException(
                $"this package has no engine for {system}-{machine}; set PICKLOCK_BINARY to the program, or, on Windows, use "
                + "WSL or the container");
        }

        // NuGet and the build need not keep the permission.
        private static void MakeExecutable(string path)
        {
#if NET8_0_OR_GREATER
            if (!OperatingSystem.IsWindows())
            {
                File.SetUnixFileMode(path, File.GetUnixFileMode(path) | UnixFileMode.UserExecute);
            }
#else
            Process.Start("chmod", $"u+x \"{path}\"")!.WaitForExit();
#endif
        }

        public static string? OnPath(string program) => (Environment.GetEnvironmentVariable("PATH") ?? "")
            .Split(Path.PathSeparator).Where(folder => folder != "").Select(folder => Path.Combine(folder, program))
            .FirstOrDefault(File.Exists);

        /// <summary>Returns the host of .NET programs: that of the tests, else that on the PATH.</summary>
        public static string Dotnet()
        {
            var host = Environment.GetEnvironmentVariable("DOTNET_HOST_PATH");
            var root = Environment.GetEnvironmentVariable("DOTNET_ROOT");
            var candidates = new[] { host, root == null ? null : Path.Combine(root, "dotnet"), OnPath("dotnet") };
            return candidates.FirstOrDefault(one => one != null && File.Exists(one))
                ?? throw new PicklockException("`dotnet` is not on the PATH, and DOTNET_ROOT is not set");
        }

        /// <summary>Runs the engine. A cancelled run is interrupted, and its processes end.</summary>
        public static async Task<Answer> Call(IEnumerable<string> words, CancellationToken cancellation) =>
            await Start(await FindPath().ConfigureAwait(false), words, cancellation).ConfigureAwait(false);

        private static async Task<Answer> Start(string path, IEnumerable<string> words, CancellationToken cancellation)
        {
            var start = new ProcessStartInfo(path, string.Join(" ", words.Select(Argument)))
            {
                RedirectStandardInput = true, RedirectStandardOutput = true, RedirectStandardError = true,
                UseShellExecute = false,
            };
            // Asks the engine to end when its standard input is closed, which happens even if this process is killed.
            start.EnvironmentVariables["PICKLOCK_END_WITH_STDIN"] = "1";
            using (var process = Process.Start(start)!)
            using (cancellation.Register(() => Interrupt(process.Id)))
            {
                var output = process.StandardOutput.ReadToEndAsync();
                var messages = process.StandardError.ReadToEndAsync();
                var ended = Task.WhenAll(output, messages);
                var cancelled = new TaskCompletionSource<bool>();
                using (cancellation.Register(() => cancelled.TrySetResult(true)))
                {
                    await Task.WhenAny(ended, cancelled.Task).ConfigureAwait(false);
                }
                if (await Task.WhenAny(ended, Limit(cancellation)).ConfigureAwait(false) != ended)
                {
                    process.Kill();
                }
                process.WaitForExit();
                if (cancellation.IsCancellationRequested)
                {
                    throw new PicklockException("the test was cancelled, probably by its time limit");
                }
                return new Answer(process.ExitCode, output.Result, messages.Result);
            }
        }

        private static Task Limit(CancellationToken cancellation) =>
            cancellation.IsCancellationRequested ? Task.Delay(Patience) : Task.Delay(Timeout.Infinite);

        // .NET has no function that sends this signal, with which the engine ends its servers and workers.
        private static void Interrupt(int process) => Process.Start("kill", $"-INT {process}")!.WaitForExit();

        private static string Argument(string word) => "\"" + word.Replace("\\", "\\\\").Replace("\"", "\\\"") + "\"";

        /// <summary>Runs the engine, and returns the cells of its JSON document.</summary>
        public static async Task<List<Dictionary<string, object?>>> Cells(
            IEnumerable<string> words, CancellationToken cancellation)
        {
            return Cells(await Call(words, cancellation).ConfigureAwait(false));
        }

        /// <summary>Runs a scenario, and returns its cell. If the engine can run nothing, the next runs fail at
        /// once.</summary>
        public static async Task<Dictionary<string, object?>> Cell(
            string backend, IEnumerable<string> words, CancellationToken cancellation)
        {
            if (Unavailable.ContainsKey(backend))
            {
                throw new PicklockException($"no run can take place with the backend {backend}: the first failed test has the reason");
            }
            var answer = await Call(words, cancellation).ConfigureAwait(false);
            if (answer.Code == EnvironmentFailure && answer.Output.Trim() == "")
            {
                Unavailable[backend] = true;
            }
            return Cells(answer)[0];
        }

        private static List<Dictionary<string, object?>> Cells(Answer answer)
        {
            if (answer.Code == 2 || answer.Code == 130 || answer.Output.Trim() == "")
            {
                throw new PicklockException(answer.Code == 130 ? "the run was interrupted" : Message(answer));
            }
            if (!(SmallJson.Parse(answer.Output) is Dictionary<string, object?> document))
            {
                throw new PicklockException($"the engine's document is not JSON: {answer.Output}");
            }
            return ((List<object?>)document["cells"]!).Cast<Dictionary<string, object?>>().ToList();
        }

        /// <summary>Returns the engine's message without its prefix, and without the lines about progress.</summary>
        private static string Message(Answer answer)
        {
            var lines = answer.Messages.Trim().Split('\n').ToList();
            var first = lines.FindIndex(line => line.StartsWith("picklock: ") || line.StartsWith("error: "));
            var text = string.Join("\n", lines.Skip(Math.Max(first, 0)));
            const string prefix = "picklock: ";
            text = text.StartsWith(prefix) ? text.Substring(prefix.Length) : text;
            return text == "" ? $"the engine ended with exit code {answer.Code}" : text;
        }
    }
}
