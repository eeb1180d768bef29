use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A message to the reaper, one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// The process that started the reaper. The first message.
    Owner(String),
    /// Registers a process group, by its leader's process id and start time.
    Group { leader: u32, started_ticks: u64 },
    /// The group has ended.
    ForgetGroup(u32),
    /// Registers all processes that carry this mark, wherever they went.
    Mark(String),
    /// They have ended.
    ForgetMark(String),
    /// Registers a temporary directory.
    Dir(PathBuf),
    /// The directory is removed.
    ForgetDir(PathBuf),
    /// Registers the containers with this run's label.
    Containers(String),
    /// They are removed.
    ForgetContainers(String),
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Owner(owner) => write!(f, "owner {owner}"),
            Order::Group {
                leader,
                started_ticks,
            } => write!(f, "group {leader} {started_ticks}"),
            Order::ForgetGroup(leader) => write!(f, "forget-group {leader}"),
            Order::Mark(mark) => write!(f, "mark {mark}"),
            Order::ForgetMark(mark) => write!(f, "forget-mark {mark}"),
            Order::Dir(path) => write!(f, "dir {}", path.display()),
            Order::ForgetDir(path) => write!(f, "forget-dir {}", path.display()),
            Order::Containers(run) => write!(f, "containers {run}"),
            Order::ForgetContainers(run) => write!(f, "forget-containers {run}"),
        }
    }
}

impl FromStr for Order {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let (word, rest) = line.split_once(' ').ok_or(())?;
        Ok(match word {
            "owner" => Order::Owner(rest.to_owned()),
            "group" => {
                let (leader, started) = rest.split_once(' ').ok_or(())?;
                Order::Group {
                    leader: leader.parse().map_err(|_| ())?,
                    started_ticks: started.parse().map_err(|_| ())?,
                }
            }
            "forget-group" => Order::ForgetGroup(rest.parse().map_err(|_| ())?),
            "mark" => Order::Mark(rest.to_owned()),
            "forget-mark" => Order::ForgetMark(rest.to_owned()),
            "dir" => Order::Dir(rest.into()),
            "forget-dir" => Order::ForgetDir(rest.into()),
            "containers" => Order::Containers(rest.to_owned()),
            "forget-containers" => Order::ForgetContainers(rest.to_owned()),
            _ => return Err(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_the_pipe() {
        let orders = [
            Order::Owner("1:2:boot:3".into()),
            Order::Group {
                leader: 7,
                started_ticks: 99,
            },
            Order::ForgetGroup(7),
            Order::Mark("17:98765:0".into()),
            Order::ForgetMark("17:98765:0".into()),
            Order::Dir("/tmp/picklock-with blank".into()),
            Order::ForgetDir("/tmp/picklock-with blank".into()),
            Order::Containers("run".into()),
            Order::ForgetContainers("run".into()),
        ];
        for order in orders {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        assert!("group 7".parse::<Order>().is_err());
        assert!("kill 7".parse::<Order>().is_err());
    }
}
