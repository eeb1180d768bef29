//! The parameters that differ between two sets of runs, from the commands that repeat them.

use std::fmt;

use serde::Serialize;

use crate::escape::visible;

/// The options that change every cell, with their names in reports.
const OPTIONS: [(&str, &str); 5] = [
    ("--ttl", "ttl"),
    ("--nodes", "nodes"),
    ("--server", "server"),
    ("--seeds", "seeds"),
    ("--seed", "seed"),
];

/// A parameter with different values in the two sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its name, such as `ttl`.
    pub name: &'static str,
    /// Its value before, or `None` if each scenario has its own.
    pub before: Option<String>,
    /// Its value after.
    pub after: Option<String>,
}

impl Parameter {
    /// Returns true if the parameter changes the content of every scenario.
    pub(super) fn changes_scenarios(&self) -> bool {
        matches!(self.name, "ttl" | "nodes")
    }
}

/// Formats the parameter, such as `ttl 2s → 3s`.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |it: &Option<String>| {
            it.as_deref()
                .map_or("each scenario's own".to_owned(), |it| {
                    visible(it).into_owned()
                })
        };
        write!(
            f,
            "{} {} → {}",
            self.name,
            value(&self.before),
            value(&self.after)
        )
    }
}

/// Returns the parameters that differ between two commands.
pub(super) fn changed(before: &str, after: &str) -> Vec<Parameter> {
    let value = |command: &str, option: &str| {
        let mut words = command.split(' ').skip_while(|word| *word != option);
        words.nth(1).map(str::to_owned)
    };
    let parameter = |(option, name): (&str, &'static str)| Parameter {
        name,
        before: value(before, option),
        after: value(after, option),
    };
    let all = OPTIONS.map(parameter).into_iter();
    all.filter(|it| it.before != it.after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_changed_option_is_a_parameter() {
        let (before, after) = (
            "picklock matrix --impl a --seeds 1 --seed 1 --ttl 2s",
            "picklock matrix --impl b --seeds 1 --seed 2 --ttl 3s --nodes 5",
        );
        let words: Vec<String> = changed(before, after)
            .iter()
            .map(Parameter::to_string)
            .collect();
        assert_eq!(
            words,
            ["ttl 2s → 3s", "nodes each scenario's own → 5", "seed 1 → 2"]
        );
        assert_eq!(changed(before, before), []);
        assert_eq!(changed("", "picklock replay run"), []);
    }
}
