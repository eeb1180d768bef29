use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A message to the reaper, one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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

/// What the line of something that is to be forgotten begins with.
const FORGET: &str = "forget-";

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Owner(owner) => write!(f, "owner {owner}"),
            Order::Remember(belonging) => belonging.fmt(f),
            Order::Forget(belonging) => write!(f, "{FORGET}{belonging}"),
        }
    }
}

impl fmt::Display for Belonging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Belonging::Group {
                leader,
                started_ticks,
            } => write!(f, "group {leader} {started_ticks}"),
            Belonging::Mark(mark) => write!(f, "mark {mark}"),
            Belonging::Containers(run) => write!(f, "containers {run}"),
            Belonging::Dir(path) => write!(f, "dir {}", path.display()),
        }
    }
}

impl FromStr for Order {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        if let Some(owner) = line.strip_prefix("owner ") {
            return Ok(Order::Owner(owner.to_owned()));
        }
        match line.strip_prefix(FORGET) {
            Some(belonging) => belonging.parse().map(Order::Forget),
            None => line.parse().map(Order::Remember),
        }
    }
}

impl FromStr for Belonging {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (word, rest) = text.split_once(' ').ok_or(())?;
        Ok(match word {
            "group" => {
                let (leader, started) = rest.split_once(' ').ok_or(())?;
                Belonging::Group {
                    leader: leader.parse().map_err(|_| ())?,
                    started_ticks: started.parse().map_err(|_| ())?,
                }
            }
            "mark" => Belonging::Mark(rest.to_owned()),
            "containers" => Belonging::Containers(rest.to_owned()),
            "dir" => Belonging::Dir(rest.into()),
            _ => return Err(()),
        })
    }
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
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        assert!("group 7".parse::<Order>().is_err());
        assert!("kill 7".parse::<Order>().is_err());
    }
}
