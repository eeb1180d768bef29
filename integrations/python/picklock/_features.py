"""What a lock needs for the scenarios that are not applicable to it."""

EXTENSION = "define extend(key, token, ttl_ms)"

# By the engine's names of the features.
ADVICE = {
    "clients": "set threads = True in the class, or derive it from AsyncLock",
    "block-loop": "derive the class from AsyncLock",
    "block-thread": "set threads = True in the class, if several threads may share the lock",
    "cancel": "derive the class from AsyncLock",
    "release-unheld": "define release_unheld(key)",
    "fail-section": "define section_failed(key, token)",
    "reenter": "this package cannot test it",
    "end-client": "set threads = True in the class, if several threads may share the lock",
    "permits": "define set_capacity(permits)",
    "several-permits": "define acquire_permits(key, permits, ttl_ms, wait_ms)",
    "shared-mode": "define acquire_shared(key, ttl_ms, wait_ms)",
    "leadership": "define act(key, token)",
}


def missing(verdicts):
    """Returns the reason why a scenario is not applicable, and what the lock needs for it."""
    for verdict in verdicts.values():
        for reason, text in zip(verdict.get("reasons", ()), verdict.get("story", ())):
            if reason["kind"] == "extension-untested" and reason.get("unsupported"):
                return f"the lock cannot be extended: {EXTENSION}"
            if reason.get("feature") in ADVICE:
                return f"{text}: {ADVICE[reason['feature']]}"
    return next((text for verdict in verdicts.values() for text in verdict.get("story", ())), "no reason is given")
