package io.github.picklock;

import java.util.List;
import java.util.Map;

/** What a lock needs for the scenarios that are not applicable to it. */
final class Features {
    private static final String SHARED = "implement LockUnderTest.ThreadSafe, if several threads may share the lock";

    /** By the engine's names of the features. */
    private static final Map<String, String> ADVICE = Map.ofEntries(
            Map.entry("clients", SHARED),
            Map.entry("block-thread", SHARED),
            Map.entry("cancel", SHARED),
            Map.entry("end-client", SHARED),
            Map.entry("block-loop", "this package cannot test it"),
            Map.entry("release-unheld", "implement LockContract.UnheldRelease"),
            Map.entry("fail-section", "implement LockContract.FailingSections"),
            Map.entry("reenter", "implement LockContract.Reentrant"),
            Map.entry("permits", "implement LockContract.Semaphore"),
            Map.entry("several-permits", "implement LockContract.SeveralPermits"),
            Map.entry("shared-mode", "implement LockContract.ReadWriteLock"),
            Map.entry("leadership", "implement LockContract.LeaderElection"));

    private Features() {}

    /** Returns the reason why a scenario is not applicable, and what the lock needs for it. */
    static String missing(Map<?, ?> verdicts) {
        String text = "no reason is given";
        for (Object each : verdicts.values()) {
            Map<?, ?> verdict = (Map<?, ?>) each;
            List<?> story = verdict.get("story") instanceof List<?> lines ? lines : List.of();
            List<?> reasons = verdict.get("reasons") instanceof List<?> values ? values : List.of();
            for (int at = 0; at < Math.min(story.size(), reasons.size()); at++) {
                Map<?, ?> reason = (Map<?, ?>) reasons.get(at);
                if ("extension-untested".equals(reason.get("kind")) && reason.get("unsupported") != null) {
                    return "the lock cannot be extended: implement LockUnderTest.Extendable";
                }
                if (reason.get("feature") instanceof String feature && ADVICE.containsKey(feature)) {
                    return story.get(at) + ": " + ADVICE.get(feature);
                }
            }
            text = story.isEmpty() ? text : (String) story.get(0);
        }
        return text;
    }
}
