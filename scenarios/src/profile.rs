//! Profiles: selections of the catalog's scenarios for a purpose. This table is the only place that defines them.

/// A selection of the catalog's scenarios, in the catalog's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Its name for `--profile`.
    pub name: &'static str,
    /// Its purpose.
    pub about: &'static str,
    /// The names of its scenarios.
    pub scenarios: &'static [&'static str],
}

/// All profiles. `docs/matrix.md` explains the selection.
pub const PROFILES: &[Profile] = &[Profile {
    name: "quick",
    about: "the eight most revealing scenarios, in less than a minute",
    scenarios: &[
        "calm",
        "two-keys",
        "gc-pause",
        "late-extend",
        "stale-delete",
        "lost-release",
        "lost-release-reply",
        "late-release",
    ],
}];

/// Returns the profile with this name.
pub fn named(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    #[test]
    fn profile_lists_catalog_scenarios_in_catalog_order() {
        for profile in PROFILES {
            let place = |name: &&str| catalog::names().position(|known| known == *name);
            let places: Vec<Option<usize>> = profile.scenarios.iter().map(place).collect();
            assert!(
                places.iter().all(Option::is_some),
                "{}: {places:?}",
                profile.name
            );
            assert!(places.is_sorted(), "{}: {places:?}", profile.name);
        }
    }
}
