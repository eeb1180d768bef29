//! What it cost the servers to acquire, in words.

use picklock_verdicts::record::Counts;

use crate::units::count;

/// The commands for each grant and for each second of waiting; `None`: they were not counted, or nothing was
/// granted.
pub fn commands_in_words(counts: &Counts) -> Option<String> {
    let commands = counts.commands_per_grant()?;
    let mut costs = vec![format!("{commands:.1} for each grant")];
    if let Some(commands) = counts.waiting_per_s {
        costs.push(format!("{commands} in each second of waiting"));
    }
    if let Some(commands) = counts.holding_per_s.filter(|commands| *commands > 0) {
        costs.push(format!("{commands} in each second of holding"));
    }
    if counts.undeclared_keys > 0 {
        let keys = count(counts.undeclared_keys, "undeclared key");
        costs.push(format!("{keys} of scripts (refused on Cluster)"));
    }
    Some(costs.join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_counted_is_not_told() {
        let counts = Counts {
            granted: 4,
            ..Counts::default()
        };
        assert_eq!(commands_in_words(&counts), None);
        let counted = Counts {
            commands: Some(10),
            waiting_per_s: Some(20),
            holding_per_s: Some(3),
            undeclared_keys: 1,
            ..counts
        };
        let words = "2.5 for each grant · 20 in each second of waiting · 3 in each second of holding · 1 undeclared key of scripts \
                     (refused on Cluster)";
        assert_eq!(commands_in_words(&counted).as_deref(), Some(words));
        let refused = Counts {
            granted: 0,
            ..counted
        };
        assert_eq!(commands_in_words(&refused), None);
    }
}
