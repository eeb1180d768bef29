//! Formats the number of commands that acquiring a lock costs the servers.

use picklock_verdicts::record::Counts;

use crate::units::{count, grouped};

/// Formats the commands per grant and per second of waiting. Returns `None` if they were not counted or no
/// attempt was granted.
pub fn describe_commands(counts: &Counts) -> Option<String> {
    let commands = counts.commands_per_grant()?;
    let mut costs = vec![format!("{commands:.1} per grant")];
    if let Some(commands) = counts.waiting_per_s {
        costs.push(format!("{} per second of waiting", grouped(commands)));
    }
    if let Some(commands) = counts.holding_per_s.filter(|commands| *commands > 0) {
        costs.push(format!("{} per second of holding", grouped(commands)));
    }
    if counts.undeclared_keys > 0 {
        let keys = count(counts.undeclared_keys, "undeclared key");
        costs.push(format!("{keys} in scripts (rejected by Redis Cluster)"));
    }
    Some(costs.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncounted_commands_are_not_described() {
        let counts = Counts {
            granted: 4,
            ..Counts::default()
        };
        assert_eq!(describe_commands(&counts), None);
        let counted = Counts {
            commands: Some(10),
            waiting_per_s: Some(20),
            holding_per_s: Some(3),
            undeclared_keys: 1,
            ..counts
        };
        let words = "2.5 per grant · 20 per second of waiting · 3 per second of holding · 1 undeclared key in scripts \
                     (rejected by Redis Cluster)";
        assert_eq!(describe_commands(&counted).as_deref(), Some(words));
        let refused = Counts {
            granted: 0,
            ..counted
        };
        assert_eq!(describe_commands(&refused), None);
    }
}
