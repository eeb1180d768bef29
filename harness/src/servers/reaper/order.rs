//! The messages from this process to its reaper.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A message to the reaper: one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// The first message: the process that started the reaper.
    Owner(String),
    /// Registers an object that must be cleaned up.
    Remember(Belonging),
    /// Removes a registration, because the object has ended or was removed.
    Forget(Belonging),
}

/// An object that the reaper cleans up. The order of the variants is the order of the clean-up: processes and
/// containers write into the directories.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Belonging {
    /// A process group, by its leader's PID and start time.
    Group { leader: u32, started_ticks: u64 },
    /// All processes with this mark, even in other groups or sessions.
    Mark(String),
    /// The containers with this run's label.
    Containers(String),
    /// A temporary directory.
    Dir(PathBuf),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_round_trip_and_half_an_order_is_invalid() {
        let belongings = [
            Belonging::Group {
                leader: 7,
                started_ticks: 99,
            },
            Belonging::Mark("17:98765:0".into()),
            Belonging::Dir("/tmp/picklock-with blank".into()),
            Belonging::Containers("run".into()),
        ];
        let orders = belongings
            .map(|belonging| [Order::Remember(belonging.clone()), Order::Forget(belonging)]);
        let owner = Order::Owner("1:2:boot:3".into());
        let orders = orders.into_iter().flatten().chain([owner]);
        for order in orders {
            let line = serde_json::to_string(&order).unwrap();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(serde_json::from_str::<Order>(&line).unwrap(), order);
            let half = &line[..line.len() / 2];
            assert!(serde_json::from_str::<Order>(half).is_err(), "{half}");
        }
    }
}
