//! `picklock log`: all recorded events of a saved run, ordered by time.

use std::io::ErrorKind;
use std::path::PathBuf;

use clap::Args;
use picklock_harness::check::{Status, judge};
use picklock_harness::history::History;
use picklock_reports::command_log::{self, CommandLog};
use picklock_reports::escape::visible_json;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::run_log::{Entry, EntryKind, Selection, entries};
use picklock_reports::terminal;

use crate::exit::{self, Failure};
use crate::print;
use crate::saved_run::{self, COMMAND_LOG, HISTORY};
use crate::untrusted_file::{self, Links, MAX_DOCUMENT_LENGTH};

/// Number of entries that are formatted before they are printed.
const PRINTED_AT_ONCE: usize = 1_000;

/// `picklock log`.
#[derive(Debug, Args)]
#[command(after_help = LOG_HELP)]
pub struct LogArgs {
    /// A directory written by `--out`, or a history.jsonl.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Show only the lines around this time of the run, such as 2.406s. Default: the whole run.
    #[arg(long, value_name = "T", value_parser = parse_time)]
    pub around: Option<u64>,
    /// Number of lines to show before and after the time given with --around.
    #[arg(long, value_name = "N", default_value_t = 20, requires = "around")]
    pub lines: usize,
    /// Show only lines about this key.
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Show only lines about this client.
    #[arg(long, value_name = "W", value_parser = worker)]
    pub worker: Option<usize>,
    /// Show every line, with whole tokens. Default: for a client that waits, only the first and the last request
    #[arg(long)]
    pub all: bool,
    /// Print one JSON object per line instead of a table. Always prints every line.
    #[arg(long)]
    pub json: bool,
}

const LOG_HELP: &str = "\
Each line has a time, a route and a description. `driver → c1` is a request to client 1,
`c1 → n0` is a command to node 0, `n0` alone is a change of a key there. Faults are always shown.

Examples:
  picklock log run-1 --around 2.406s
  picklock log run-1 --worker 1 --key picklock:stock:0000
  picklock log matrix-1/redlock/gc-pause/sim --json";

/// Prints the log.
pub fn run(args: &LogArgs) -> Result<u8, Failure> {
    let dir = saved_run::directory(&args.run)?;
    let sibling = |name: &str| dir.as_ref().map(|dir| dir.join(name));
    let history = saved_run::history(&sibling(HISTORY).unwrap_or(args.run.clone()))?;
    let proxy = sibling(COMMAND_LOG).map(proxy).transpose()?.flatten();
    let wanted = Selection {
        around: args.around.map(|at_ns| (at_ns, args.lines)),
        key: args.key.clone(),
        worker: args.worker,
        is_essential: !args.all && !args.json,
    };
    let entries = entries(&history, proxy.as_ref(), &wanted);
    // Faults are always shown.
    let is_asked_for = |entry: &Entry| entry.kind != EntryKind::Fault;
    if !entries.iter().any(is_asked_for) {
        return Err(Failure::Usage(inert!(
            "nothing of that kind happened: the run had {} clients, and the keys of its locks were {}",
            history.header.workers,
            history.header.keys.join(", ")
        )));
    }
    if args.json {
        for entry in &entries {
            let line = serde_json::to_string(entry);
            let line = line.map_err(|error| Failure::Environment(inert!("{}", error)))?;
            print::document(&visible_json(line));
        }
        return Ok(exit::HELD);
    }
    let violated = violations(&history);
    let mut parts = terminal::log(&entries, &violated, print::width());
    loop {
        let some: Inert = parts.by_ref().take(PRINTED_AT_ONCE).collect();
        if some.is_empty() {
            break;
        }
        print::out(&some);
    }
    if proxy.is_none() {
        print::err(&Inert::literal(
            "picklock: there is no commands.jsonl next to the history, so commands are missing\n",
        ));
    }
    Ok(exit::HELD)
}

fn proxy(path: PathBuf) -> Result<Option<CommandLog>, Failure> {
    let wrong = |text: Inert| Failure::Usage(inert!("{}: {}", path.display(), text));
    let text = match untrusted_file::read_plain_or_gzip(&path, MAX_DOCUMENT_LENGTH, Links::Refused)
    {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| wrong(inert!("{}", error)))?,
    };
    let log = command_log::read(&text).map_err(|error| wrong(inert!("{}", error)))?;
    Ok(Some(log))
}

/// Returns the violations, each with the time of its first evidence.
fn violations(history: &History) -> Vec<(u64, String)> {
    let verdicts = judge(history);
    let violated = verdicts
        .iter()
        .filter(|(_, it)| it.status == Status::Violated);
    let mut all: Vec<(u64, String)> = violated
        .filter_map(|(property, verdict)| {
            let cause = verdict.cause.map_or("", |cause| cause.as_str());
            Some((verdict.at_ns?, format!("✘ {property} violated: {cause}")))
        })
        .collect();
    all.sort();
    all
}

/// Parses a time of a run as reports show it: `2.406`, `2.406s`, `2.406 s`, `80ms`.
fn parse_time(text: &str) -> Result<u64, &'static str> {
    let wrong = "expected a time since the run began, such as 2.406s";
    let text = text.trim();
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e6),
        None => (text.strip_suffix('s').unwrap_or(text), 1e9),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong)?;
    if (0.0..1e9).contains(&number) {
        Ok((number * unit) as u64)
    } else {
        Err(wrong)
    }
}

/// Parses the number of a client: `1`, or `c1` as in the log.
fn worker(text: &str) -> Result<usize, &'static str> {
    let number = text.strip_prefix("client ").or(text.strip_prefix('c'));
    let number = number.unwrap_or(text);
    number
        .parse()
        .map_err(|_| "expected the number of a client")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_read_as_reports_write_it() {
        for text in ["2.406", "2.406s", "2.406 s", "2406ms"] {
            assert_eq!(
                parse_time(text).map(|ns| ns / 1_000_000),
                Ok(2406),
                "{text}"
            );
        }
        for text in ["", "s", "soon", "-1s", "nan"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
