// What a lock needs for the scenarios that are not applicable to it.

const EXTENSION = "define extend(key, token, ttlMs)";

// By the engine's names of the features.
const ADVICE = {
  "block-thread": "this package cannot test it",
  cancel: "give acquire a fourth parameter, an AbortSignal",
  "release-unheld": "define releaseUnheld(key)",
  "fail-section": "define sectionFailed(key, token)",
  reenter: "this package cannot test it",
  "end-client": "this package cannot test it",
  permits: "define setCapacity(permits)",
  "several-permits": "define acquirePermits(key, permits, ttlMs, waitMs)",
  "shared-mode": "define acquireShared(key, ttlMs, waitMs)",
  leadership: "define act(key, token)",
};

/** Returns the reason why a scenario is not applicable, and what the lock needs for it. */
export function missing(verdicts) {
  for (const { reasons = [], story = [] } of Object.values(verdicts)) {
    for (const [at, reason] of reasons.entries()) {
      if (reason.kind === "extension-untested" && reason.unsupported) return `the lock cannot be extended: ${EXTENSION}`;
      if (reason.feature in ADVICE) return `${story[at]}: ${ADVICE[reason.feature]}`;
    }
  }
  return Object.values(verdicts).flatMap(({ story = [] }) => story)[0] ?? "no reason is given";
}
