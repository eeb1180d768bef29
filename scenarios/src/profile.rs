//! Profiles: choices of scenarios of the catalog for a purpose. One table, and this is its only place.

/// Some scenarios of the catalog, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// What `--profile` names it.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Names of scenarios of the catalog.
    pub scenarios: &'static [&'static str],
}

/// All profiles. `docs/matrix.md` says why these scenarios.
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

/// The profile with this name.
pub fn named(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    #[test]
    fn a_profile_has_scenarios_of_the_catalog_in_its_order() {
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
