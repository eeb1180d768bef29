//! `picklock check`: judges a history file again.

use picklock_harness::assemble::{About, assemble};
use picklock_harness::check::{Status, Verdicts, judge};
use picklock_harness::latency;
use picklock_reports::escape::quoted;
use picklock_reports::{documents, terminal};

use crate::cli::CheckArgs;
use crate::exit::{self, Failure};
use crate::print;
use crate::saved_run::{self, HISTORY};

/// Judges the file, prints the verdicts, and returns the exit code.
pub fn run(args: &CheckArgs) -> Result<u8, Failure> {
    let dir = saved_run::directory(&args.history)?;
    let path = dir.map_or(args.history.clone(), |dir| dir.join(HISTORY));
    let name = path.display();
    let history = saved_run::history(&path)?;
    let verdicts = judge(&history);
    let code = code_of(&verdicts);
    let about = About {
        picklock: env!("CARGO_PKG_VERSION").to_owned(),
        summary: format!("Judged again from {name}."),
        latency: latency::from_history(&history),
        reproduce: format!("picklock check {}", quoted(&name.to_string())),
        ..About::default()
    };
    let record = assemble(&history, verdicts, about);
    if args.json {
        print::document(&documents::json(&record));
    } else {
        print::out(&terminal::run(
            &record,
            &history,
            print::width(),
            terminal::Detail::new(args.verbose),
        ));
    }
    Ok(code)
}

/// Returns the exit code for the verdicts: 1 takes precedence over 3. If no property applies, the result is
/// inconclusive.
pub fn code_of(verdicts: &Verdicts) -> u8 {
    let any = |status| verdicts.values().any(|verdict| verdict.status == status);
    if any(Status::Violated) {
        exit::VIOLATED
    } else if any(Status::Unknown) || !any(Status::Held) {
        exit::INCONCLUSIVE
    } else {
        exit::HELD
    }
}
