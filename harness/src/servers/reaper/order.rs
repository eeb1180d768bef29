use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A message to the reaper: JSON, one line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// The process that started the reaper. The first message.
    Owner(String),
    /// This has to be cleaned up.
    Remember(Belonging),
    /// It has ended, or is removed.
    Forget(Belonging),
}

/// Something that the reaper cleans up, in the order in which it does so: processes and containers write
/// into the directories.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Belonging {
    /// A process group, by its leader's process id and start time.
    Group { leader: u32, started_ticks: u64 },
    /// All processes that carry this mark, wherever they went.
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
    fn orders_survive_the_pipe() {
        let belongings = [
            Belonging::Group {
                leader: 7,
                started_ticks: 99,
            },
            Belonging::Mark("17:98765:0".into()),
            Belonging::Dir("/tmp/picklock-with blank".into()),
            Belonging::Containers("run".into()),
        ];
        let orders = belongings.map(|it| [Order::Remember(it.clone()), Order::Forget(it)]);
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
