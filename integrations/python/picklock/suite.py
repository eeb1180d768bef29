"""Tests of one lock under many scenarios."""

from . import _engine


class Suite:
    """A lock, its scenarios, and the settings of its runs."""

    def __init__(self, lock, selection, settings):
        self.lock = lock
        self.selection = selection
        self.settings = settings

    def names(self):
        """Returns the names of the scenarios, in the order of the catalog."""
        reference = self.settings.get("reference") or _engine.standard(self.lock, self.settings.get("nodes", 1))
        return [each["scenario"] for each in _engine.plan(**self.selection, reference=reference)]


def scenarios(lock, *names, profile=None, **settings):
    """Returns a test function for pytest with one test per scenario.

    `names` are scenarios of the catalog, `*` stands for any text, or paths of scenario files. Without names, `profile`
    selects them. `settings` are those of `picklock.run`.
    """
    selection = {"names": names, "profile": None if names else profile or "quick"}

    def test(picklock, picklock_scenario):
        picklock.run(lock, picklock_scenario, **settings)

    test.__doc__ = f"{lock.__name__} under {', '.join(names) or 'the profile ' + selection['profile']}"
    test.picklock_suite = Suite(lock, selection, settings)
    return test
