package picklock

// What a lock with this feature implements, by the engine's names of the features.
var advice = map[string]string{
	"clients":         "this package cannot test it",
	"block-loop":      "this package cannot test it",
	"cancel":          "implement picklock.Cancellable",
	"release-unheld":  "implement picklock.UnheldReleaser",
	"fail-section":    "implement picklock.SectionFailer",
	"reenter":         "this package cannot test it",
	"permits":         "implement picklock.Semaphore",
	"several-permits": "implement picklock.SeveralPermits",
	"shared-mode":     "implement picklock.ReadWriteLock",
	"leadership":      "implement picklock.LeaderElection",
}

// missing returns the reason why a scenario is not applicable, and what the lock needs for it.
func missing(one cell) string {
	text := "no reason is given"
	for _, property := range one.Verdicts.properties {
		verdict := one.Verdicts.of[property]
		for at, reason := range verdict.Reasons {
			if reason.Kind == "extension-untested" && reason.Unsupported != "" {
				return "the lock cannot be extended: implement picklock.Extender, or TryExtend for picklock.Trying"
			}
			if needs, has := advice[reason.Feature]; has && at < len(verdict.Story) {
				return verdict.Story[at] + ": " + needs
			}
		}
		if len(verdict.Story) > 0 {
			text = verdict.Story[0]
		}
	}
	return text
}
