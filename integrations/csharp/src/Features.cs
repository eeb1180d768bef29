using System;
using System.Collections.Generic;
using System.Linq;

namespace Picklock
{
    /// <summary>What a lock needs for the scenarios that are not applicable to it.</summary>
    internal static class Features
    {
        /// <summary>By the engine's names of the features.</summary>
        private static readonly Dictionary<string, string> Advice = new Dictionary<string, string>
        {
            ["block-loop"] = "this package cannot test it",
            ["block-thread"] = "this package cannot test it",
            ["reenter"] = "this package cannot test it",
            ["end-client"] = "this package cannot test it",
            ["cancel"] = "implement ICancellable",
            ["release-unheld"] = "implement IUnheldRelease",
            ["fail-section"] = "implement IFailingSections",
            ["permits"] = "implement ISemaphore",
            ["several-permits"] = "implement ISeveralPermits",
            ["shared-mode"] = "implement IReadWriteLock",
            ["leadership"] = "implement ILeaderElection",
        };

        /// <summary>Returns the reason why a scenario is not applicable, and what the lock needs for it.</summary>
        public static string Missing(IEnumerable<Dictionary<string, object?>> verdicts)
        {
            var text = "no reason is given";
            foreach (var verdict in verdicts)
            {
                var story = Values(verdict, "story").OfType<string>().ToList();
                var reasons = Values(verdict, "reasons").OfType<Dictionary<string, object?>>().ToList();
                for (var at = 0; at < Math.Min(story.Count, reasons.Count); at++)
                {
                    if ((string?)reasons[at]["kind"] == "extension-untested" && reasons[at].ContainsKey("unsupported"))
                    {
                        return "the lock cannot be extended: implement IExtendable";
                    }
                    if (reasons[at].TryGetValue("feature", out var feature) && feature is string name
                        && Advice.TryGetValue(name, out var needs))
                    {
                        return $"{story[at]}: {needs}";
                    }
                }
                text = story.FirstOrDefault() ?? text;
            }
            return text;
        }

        private static List<object?> Values(Dictionary<string, object?> verdict, string name) =>
            verdict.TryGetValue(name, out var values) && values is List<object?> list ? list : new List<object?>();
    }
}
