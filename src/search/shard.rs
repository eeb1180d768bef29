//! The part of a search that this process runs.

use picklock_reports::inert;
use picklock_reports::inert::Inert;

use crate::exit::Failure;

/// Environment variables with the task number of a scheduler, and the number of its first task.
const TASKS: [(&str, u64); 3] = [
    ("JOB_COMPLETION_INDEX", 0),
    ("SLURM_ARRAY_TASK_ID", 0),
    ("PICKLOCK_SHARD", 1),
];

/// Maximum number of shards.
const MAX_SHARDS: u64 = 10_000;

/// Parses `I/N` or `auto/N`; `None` is the whole search. `environment` looks up a variable.
///
/// # Errors
/// Returns an error if the text is something else or out of range, or if no variable contains the task number.
pub fn parse(
    given: Option<&str>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<(u64, u64), Failure> {
    let Some(given) = given else {
        return Ok((1, 1));
    };
    let wrong = |problem: Inert| Failure::Usage(inert!("--shard {}: {}", given, problem));
    let parts = given.split_once('/');
    let (shard, of) = parts.ok_or_else(|| wrong(Inert::literal("expected I/N, such as 1/4")))?;
    let of: u64 = of
        .parse()
        .map_err(|_| wrong(Inert::literal("expected a whole number after the slash")))?;
    let shard = match shard {
        "auto" => task(environment).map_err(|problem| wrong(Inert::lines(&problem)))?,
        number => number.parse().map_err(|_| {
            wrong(Inert::literal(
                "expected a whole number, or `auto`, before the slash",
            ))
        })?,
    };
    if of > MAX_SHARDS {
        return Err(wrong(inert!("expected at most {} shards", MAX_SHARDS)));
    }
    if shard == 0 || shard > of {
        return Err(wrong(inert!("no shard {}: expected 1 to {}", shard, of)));
    }
    Ok((shard, of))
}

fn task(environment: impl Fn(&str) -> Option<String>) -> Result<u64, String> {
    for (name, first) in TASKS {
        let Some(value) = environment(name) else {
            continue;
        };
        let number = value.parse::<u64>().ok();
        let shard = number.and_then(|number| (number + 1).checked_sub(first));
        return shard.ok_or_else(|| format!("{name} is {value:?}: expected a whole number"));
    }
    let names: Vec<&str> = TASKS.iter().map(|(name, _)| *name).collect();
    Err(format!("none of {} is set", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shard_is_counted_from_one_whatever_the_scheduler_counts_from() {
        let of = |given: &str, name: &'static str, value: &'static str| {
            let parsed = parse(Some(given), |asked| {
                (asked == name).then(|| value.to_owned())
            });
            parsed.map_err(|failure| failure.text().as_str().to_owned())
        };
        assert_eq!(of("2/4", "", ""), Ok((2, 4)));
        assert_eq!(of("auto/4", "JOB_COMPLETION_INDEX", "0"), Ok((1, 4)));
        assert_eq!(of("auto/4", "SLURM_ARRAY_TASK_ID", "3"), Ok((4, 4)));
        assert_eq!(of("auto/4", "PICKLOCK_SHARD", "4"), Ok((4, 4)));
        assert_eq!(parse(None, |_| None).ok(), Some((1, 1)));
        for (given, name, value) in [
            ("0/4", "", ""),
            ("5/4", "", ""),
            ("1", "", ""),
            ("x/4", "", ""),
            ("1/x", "", ""),
            ("auto/4", "", ""),
            ("auto/4", "PICKLOCK_SHARD", "0"),
            ("auto/4", "JOB_COMPLETION_INDEX", "4"),
            ("auto/4", "JOB_COMPLETION_INDEX", "one"),
        ] {
            assert!(of(given, name, value).is_err(), "{given} {name}={value}");
        }
    }
}
