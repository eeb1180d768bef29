//! The catalog: scenarios that are included in Picklock, one TOML file each, embedded.

use crate::nearest::nearest;
use crate::parse::ScenarioError;
use crate::scenario::Scenario;
use crate::world_name::WorldName;

/// Name and text of every scenario of the catalog, in the order in which people read them. A new
/// scenario is one new file and one line here.
pub const CATALOG: &[(&str, &str)] = &[
    ("calm", include_str!("../catalog/calm.toml")),
    (
        "flash-sale-20",
        include_str!("../catalog/flash-sale-20.toml"),
    ),
    ("flash-sale", include_str!("../catalog/flash-sale.toml")),
    ("steady-load", include_str!("../catalog/steady-load.toml")),
    ("gc-pause", include_str!("../catalog/gc-pause.toml")),
    ("slow-section", include_str!("../catalog/slow-section.toml")),
    ("lost-update", include_str!("../catalog/lost-update.toml")),
    ("late-grant", include_str!("../catalog/late-grant.toml")),
    ("stale-delete", include_str!("../catalog/stale-delete.toml")),
    ("holder-crash", include_str!("../catalog/holder-crash.toml")),
    (
        "crash-mid-acquire",
        include_str!("../catalog/crash-mid-acquire.toml"),
    ),
    ("lost-reply", include_str!("../catalog/lost-reply.toml")),
    (
        "master-failover",
        include_str!("../catalog/master-failover.toml"),
    ),
    (
        "master-failover-synced",
        include_str!("../catalog/master-failover-synced.toml"),
    ),
    ("node-restart", include_str!("../catalog/node-restart.toml")),
    (
        "node-restart-aof",
        include_str!("../catalog/node-restart-aof.toml"),
    ),
    (
        "node-restart-everysec",
        include_str!("../catalog/node-restart-everysec.toml"),
    ),
    (
        "quorum-erosion",
        include_str!("../catalog/quorum-erosion.toml"),
    ),
    (
        "quorum-erosion-delayed",
        include_str!("../catalog/quorum-erosion-delayed.toml"),
    ),
    ("clock-jump", include_str!("../catalog/clock-jump.toml")),
    (
        "clock-jump-quorum",
        include_str!("../catalog/clock-jump-quorum.toml"),
    ),
    ("clock-skew", include_str!("../catalog/clock-skew.toml")),
    ("eviction", include_str!("../catalog/eviction.toml")),
    ("memory-full", include_str!("../catalog/memory-full.toml")),
    ("script-flush", include_str!("../catalog/script-flush.toml")),
    (
        "network-delay",
        include_str!("../catalog/network-delay.toml"),
    ),
    (
        "sentinel-failover",
        include_str!("../catalog/sentinel-failover.toml"),
    ),
    ("stale-master", include_str!("../catalog/stale-master.toml")),
    (
        "partition-holder",
        include_str!("../catalog/partition-holder.toml"),
    ),
    (
        "partition-minority",
        include_str!("../catalog/partition-minority.toml"),
    ),
    ("node-pause", include_str!("../catalog/node-pause.toml")),
];

/// The names of the catalog.
pub fn names() -> impl Iterator<Item = &'static str> {
    CATALOG.iter().map(|(name, _)| *name)
}

/// The names of the scenarios that can run in all of these worlds.
pub fn names_in(worlds: &[WorldName]) -> Vec<&'static str> {
    let fits = |name: &&str| {
        named(name).is_ok_and(|scenario| worlds.iter().all(|world| scenario.runs_in(*world)))
    };
    names().filter(fits).collect()
}

/// A scenario of the catalog by its name.
///
/// # Errors
/// An unknown name, with the list and the nearest one.
pub fn named(name: &str) -> Result<Scenario, ScenarioError> {
    match CATALOG.iter().find(|(known, _)| *known == name) {
        Some((known, text)) => Scenario::parse(text, &format!("catalog/{known}.toml")),
        None => Err(ScenarioError {
            file: name.to_owned(),
            place: None,
            excerpt: None,
            problem: format!(
                "no such scenario; the catalog has {} (your own scenario must be a path that ends in .toml)",
                names().collect::<Vec<_>>().join(", ")
            ),
            hint: nearest(name, names()).map(|meant| format!("did you mean `{meant}`?")),
        }),
    }
}
