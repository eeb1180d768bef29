//! Names as a matrix accepts them: comma-separated, and patterns with `*`.

use picklock_impls::{MUTANTS, built_in};
use picklock_reports::inert;
use picklock_scenarios::catalog;

use crate::exit::Failure;
use crate::named_lock::is_program;
use crate::usage_hint::or_meant;

/// Returns the names of the locks that these texts select. A pattern selects built-in locks, or mutants if it matches
/// no built-in lock. A program stays as it is.
///
/// # Errors
/// Returns an error if a pattern matches nothing.
pub fn locks(typed: &[String]) -> Result<Vec<String>, Failure> {
    let built_in: Vec<&str> = built_in().map(|lock| lock.name).collect();
    let mutants: Vec<&str> = MUTANTS.iter().map(|lock| lock.name).collect();
    expanded("--impl", typed, &[built_in, mutants], is_program)
}

/// Returns the names and paths of the scenarios that these texts select. A path stays as it is.
///
/// # Errors
/// Returns an error if a pattern matches nothing.
pub fn scenarios(typed: &[String]) -> Result<Vec<String>, Failure> {
    let names: Vec<&str> = catalog::names().collect();
    let is_path = |text: &str| text.ends_with(".toml");
    expanded("--scenario", typed, &[names], is_path)
}

/// Expands patterns. `known` are groups of names; a later group is used only if no earlier one matches.
fn expanded(
    flag: &str,
    typed: &[String],
    known: &[Vec<&str>],
    is_whole: fn(&str) -> bool,
) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for text in typed {
        let parts: Vec<&str> = if is_whole(text) {
            vec![text]
        } else {
            text.split(',').map(str::trim).collect()
        };
        for part in parts {
            if !part.contains('*') || is_whole(text) {
                names.push(part.to_owned());
                continue;
            }
            let matching = |group: &Vec<&str>| -> Vec<String> {
                let group = group.iter().filter(|name| matches(part, name));
                group.map(|name| (*name).to_owned()).collect()
            };
            let found = known.iter().map(matching).find(|found| !found.is_empty());
            names.extend(found.ok_or_else(|| {
                let bare = part.replace('*', "").replace('_', "-");
                let meant = or_meant(&bare, known.iter().flatten().copied());
                Failure::Usage(inert!(
                    "{} {}: no name matches it{} (`picklock list` lists all names)",
                    flag,
                    part,
                    meant
                ))
            })?);
        }
    }
    Ok(names)
}

/// Returns `true` if the name matches the pattern, in which `*` matches any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, rest)) => name.strip_prefix(begin).is_some_and(|name| {
            let mut tails = (0..=name.len()).filter_map(|at| name.get(at..));
            tails.any(|tail| matches(rest, tail))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(typed: &str) -> Vec<String> {
        locks(&[typed.to_owned()]).unwrap()
    }

    #[test]
    fn commas_and_stars_become_names_in_their_order() {
        assert_eq!(selected("fenced, set*px"), ["fenced", "set-nx-px"]);
        assert_eq!(selected("redlock*"), ["redlock", "redlock-renewing"]);
        assert_eq!(selected("exec:a, b*"), ["exec:a, b*"]);
        assert!(selected("*").len() == built_in().count());
    }

    #[test]
    fn pattern_without_a_match_is_refused_with_its_flag() {
        let error = scenarios(&["gc-*,x*y".to_owned()])
            .unwrap_err()
            .text()
            .to_string();
        assert!(error.starts_with("--scenario x*y"), "{error}");
    }
}
