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
    /// <summary>The cell of a run, compared with what the test requires.</summary>
    internal sealed class Judgement
    {
        // Maximum number of lines of each worker's output in a failure.
        private const int LastLines = 8;

        // A line of a stack trace, without the exception.
        private static readonly Regex Frame = new Regex("^\\s*(at |--- )");

        private static readonly Regex Plain = new Regex("^[\\w@%+=:,./-]+$");

        private readonly string title;
        private readonly Dictionary<string, object?> cell;
        private readonly string? reference;
        private readonly RunSettings settings;
        private readonly string directory;

        public Judgement(
            string title, Dictionary<string, object?> cell, string? reference, RunSettings settings, string directory)
        {
            this.title = title;
            this.cell = cell;
            this.reference = reference;
            this.settings = settings;
            this.directory = directory;
        }

        private Dictionary<string, object?> Verdicts => (Dictionary<string, object?>)cell["verdicts"]!;

        public Dictionary<string, string> Statuses =>
            Verdicts.Keys.ToDictionary(property => property, property => (string)Verdict(property)["status"]!);

        private Dictionary<string, object?> Verdict(string property) => (Dictionary<string, object?>)Verdicts[property]!;

        /// <summary>The facts about the lock that no property judges.</summary>
        public IReadOnlyList<string> Warnings =>
            cell.TryGetValue("warnings", out var found) && found is List<object?> list
                ? list.Cast<Dictionary<string, object?>>().Select(one => $"{title}: {one["text"]}").ToList()
                : new List<string>();

        public async Task Check()
        {
            if (cell.TryGetValue("error", out var error))
            {
                throw new PicklockException($"{title} did not run: {error}{WorkerOutput()}");
            }
            var statuses = Statuses;
            if (statuses.Values.All(status => status == "not-applicable"))
            {
                throw new NotApplicableException(Skip(
                    $"{title} is not applicable: {Features.Missing(statuses.Keys.Select(Verdict))}"));
            }
            var wrong = Wrong(statuses);
            var among = reference == null ? wrong.Select(one => one.Key) : statuses.Keys;
            var unknown = among.Where(property => statuses[property] == "unknown").ToList();
            wrong.RemoveAll(one => unknown.Contains(one.Key));
            if (wrong.Count > 0)
            {
                throw new ViolationException(await Failure(statuses, wrong).ConfigureAwait(false));
            }
            if (unknown.Count > 0)
            {
                var advice = unknown.Any(IsDueToTheLock)
                    ? "" : "\nOn a busy machine, run fewer tests at a time, or skip such tests: RunSettings.SkipUnknown = true";
                var text = $"{title} cannot be judged: {string.Join(", ", unknown)} unknown: {Reason(unknown)}{advice}"
                    + string.Concat(Warnings.Select(warning => $"\nWarning: {warning}."))
                    + WorkerOutput() + "\n" + await Places().ConfigureAwait(false);
                throw new InconclusiveException(settings.SkipUnknown ? Skip(text) : text);
            }
        }

        /// <summary>Returns the message with which xUnit 3 skips a test, or the text for other frameworks.</summary>
        private static string Skip(string text)
        {
            var isXunit3 = AppDomain.CurrentDomain.GetAssemblies().Any(one => one.GetName().Name == "xunit.v3.core");
            return isXunit3 ? "$XunitDynamicSkip$" + text : text;
        }

        /// <summary>Returns the properties with another status than required, with what is required.</summary>
        private List<KeyValuePair<string, string>> Wrong(Dictionary<string, string> statuses)
        {
            if (reference != null)
            {
                return ((List<object?>)cell["mismatches"]!).Cast<Dictionary<string, object?>>().Select(one =>
                    new KeyValuePair<string, string>((string)one["property"]!, (string)one["expected"]!)).ToList();
            }
            var absent = settings.Expect.Keys.FirstOrDefault(property => !statuses.ContainsKey(property));
            if (absent != null)
            {
                throw new PicklockException($"{absent}: no such property; there are {string.Join(", ", statuses.Keys)}");
            }
            return settings.Expect.Where(one => statuses[one.Key] != one.Value).ToList();
        }

        /// <summary>Returns true if a property is unknown because the lock uses other servers than its nodes, or because
        /// it was never granted. A less busy machine does not help then.</summary>
        private bool IsDueToTheLock(string property) =>
            Verdict(property).TryGetValue("reasons", out var reasons) && reasons is List<object?> list
            && list.OfType<Dictionary<string, object?>>().Any(one => (string?)one["kind"] == "other-servers"
                || (string?)one["kind"] == "too-few-grants" && one["granted"] is 0L);

        private string Reason(IEnumerable<string> properties)
        {
            var stories = properties.Select(property => Verdict(property).TryGetValue("story", out var story) ? story : null);
            var lines = stories.OfType<List<object?>>().SelectMany(lines => lines).OfType<string>().Distinct().ToList();
            return lines.Count == 0 ? "no reason is given" : string.Join("; ", lines);
        }

        private async Task<string> Failure(Dictionary<string, string> statuses, List<KeyValuePair<string, string>> wrong)
        {
            var found = wrong.Select(one => $"{one.Key} is {Described(one.Key)}, expected {one.Value}");
            var shared = SharedWithReference(statuses);
            var counted = wrong.Select(one => Cause(one.Key));
            var story = await Story(shared.Select(Cause).Except(counted).OfType<string>()).ConfigureAwait(false);
            var text = new StringBuilder($"{title}: {story}{WorkerOutput()}\n");
            text.Append(string.Join("; ", found)).Append('\n');
            if (reference != null)
            {
                text.Append($"The reference lock {reference} would keep: {string.Join(", ", wrong.Select(one => one.Key))}.\n");
                if (shared.Count > 0)
                {
                    text.Append($"The reference lock does not keep these either, so they are not counted: {string.Join(", ", shared)}.\n");
                }
            }
            return text.Append('\n').Append(await Places().ConfigureAwait(false)).ToString();
        }

        /// <summary>Returns the violated properties that the reference lock does not keep either.</summary>
        private List<string> SharedWithReference(Dictionary<string, string> statuses)
        {
            var expected = reference == null
                ? new Dictionary<string, object?>() : (Dictionary<string, object?>)cell["expected"]!;
            return statuses.Keys.Where(one => expected.TryGetValue(one, out var status) && (string?)status == "any"
                && statuses[one] == "violated").ToList();
        }

        private string? Cause(string property) =>
            Verdict(property).TryGetValue("cause", out var cause) ? (string?)cause : null;

        private string Described(string property) =>
            (string)Verdict(property)["status"]! + (Cause(property) is string cause ? $" ({cause})" : "");

        /// <summary>Returns the answer in the engine's report: what happened, whose fault it was, the remedy, and the deciding
        /// lines. It is the paragraph that begins with a mark, after the title. Without a violation it is the whole
        /// report. Violations with an uncounted cause are marked.</summary>
        private async Task<string> Story(IEnumerable<string> uncountedCauses)
        {
            var answer = await Engine.Call(new[] { "check", Saved }, CancellationToken.None).ConfigureAwait(false);
            var parts = answer.Output.Split(new[] { "\n\n" }, StringSplitOptions.None).Skip(1);
            var text = parts.FirstOrDefault(part => part.StartsWith("✘ ", StringComparison.Ordinal)) ?? answer.Output;
            foreach (var cause in uncountedCauses)
            {
                text = Regex.Replace(text, $"\\n(  (?:Remedy:[^✘]*?\\()?picklock\\s+explain\\s+{cause}[)\\s])",
                    "\n  Not counted: the reference lock fails here too.\n$1");
            }
            var program = await Program().ConfigureAwait(false);
            return text.TrimEnd().Replace("(picklock explain", $"({program} explain") + "\n";
        }

        /// <summary>Returns how the user can start the engine.</summary>
        private static async Task<string> Program() =>
            Engine.OnPath("picklock") != null ? "picklock" : Quoted(await Engine.FindPath().ConfigureAwait(false));

        /// <summary>Returns the last lines of a worker's output. If they begin within a stack trace, the first is its
        /// innermost exception.</summary>
        private static IEnumerable<string> Last(string[] all)
        {
            var start = Math.Max(0, all.Length - LastLines);
            var heading = Frame.IsMatch(all[start]) ? all.Take(start).LastOrDefault(line => !Frame.IsMatch(line)) : null;
            return heading == null ? all.Skip(start) : all.Skip(start + 1).Prepend(heading.Replace(" ---> ", ""));
        }

        private string WorkerOutput()
        {
            var texts = new Dictionary<string, string>();
            foreach (var log in Directory.GetFiles(directory, "worker-*.log", SearchOption.AllDirectories).OrderBy(file => file))
            {
                var text = File.ReadAllText(log).Trim();
                if (text != "" && !texts.ContainsKey(text))
                {
                    texts[text] = Path.GetFileNameWithoutExtension(log).Replace("worker-", "client ");
                }
            }
            var lines = new StringBuilder();
            foreach (var pair in texts)
            {
                lines.Append($"\n\nOutput of {pair.Value}:\n");
                lines.Append(string.Join("\n", Last(pair.Key.Split('\n')).Select(line => "  " + line)));
            }
            return lines.Append(texts.Count > 0 ? "\n" : "").ToString();
        }

        private string Saved => Path.Combine(directory, "run");

        private async Task<string> Places()
        {
            var words = new[] { "report", Saved, "--format", "html", "--out", directory };
            await Engine.Call(words, CancellationToken.None).ConfigureAwait(false);
            var program = await Program().ConfigureAwait(false);
            var page = new Uri(Path.Combine(directory, "report.html")).AbsoluteUri;
            return $"backend    {cell["backend"]}\nsaved run  {Saved}\ntimeline   {page}\n"
                + $"repeat     {program} replay {Quoted(Saved)} --trust";
        }

        public static string Quoted(string word) => Plain.IsMatch(word) ? word : "'" + word.Replace("'", "'\\''") + "'";
    }
}
