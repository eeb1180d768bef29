//! `picklock adapter check`: checks whether a program implements the adapter protocol.
//!
//! - [`cli`]: the command line
//! - [`text`]: the result as text

pub mod cli;
mod text;

use std::time::Duration;

use picklock_harness::conformance::finding::CheckResult;
use picklock_harness::conformance::{
    ConformanceError, ConformanceReport, ConformanceSetup, check_adapter,
};
use picklock_harness::record::Redis;
use picklock_harness::rng;
use picklock_harness::servers::Binary;
use picklock_harness::spec::LockSpec;
use picklock_reports::inert;
use picklock_scenarios::LeaseDuration;
use serde::Serialize;

use self::cli::{AdapterArgs, AdapterCheckArgs, AdapterCommand};
use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::{self, Failure};
use crate::interrupt::Interrupt;
use crate::named_lock::{DOCKER, EXEC, NamedLock};
use crate::{lock, print};

const FORMAT: &str = "picklock-adapter-check/1";

/// Allowed lease times. Shorter leases expire while the machine is busy; longer ones keep the user waiting.
const LEASES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(60);

/// The document that `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    command: &'a str,
    adapter: Adapter<'a>,
    redis: &'a Redis,
    ttl_ms: u128,
    passed: bool,
    checks: &'a [CheckResult],
}

#[derive(Serialize)]
struct Adapter<'a> {
    name: Option<&'a str>,
    version: Option<&'a str>,
}

/// Runs a command of `picklock adapter` and returns its exit code. A failed check is not an error.
///
/// # Errors
/// Returns an error if the usage is wrong, or if the adapter or the server cannot be started.
pub async fn run(args: AdapterArgs) -> Result<u8, Failure> {
    let AdapterCommand::Check(args) = &args.command;
    let command = args.command.strip_prefix(EXEC).unwrap_or(&args.command);
    let adapter = adapter(args, command)?;
    let lease = lease(args.ttl)?;
    let setup = setup(args, adapter, lease)?;
    let interrupt = Interrupt::listen()?;
    if !args.json {
        let server = setup.server.path().display().to_string();
        print::out(&inert!("Checking {} over {}\n", command, server));
    }
    let mut tell = |result: &CheckResult| {
        if !args.json {
            print::out(&text::check_line(result));
        }
    };
    let report = tokio::select! {
        biased;
        () = interrupt.wanted() => return Err(Failure::Interrupted),
        report = check_adapter(setup, &mut tell) => report.map_err(not_checked)?,
    };
    if args.json {
        print::document(&document(command, lease, &report)?);
    } else {
        print::out(&text::summary(&report.checks));
    }
    Ok(if report.passed() {
        exit::HELD
    } else {
        exit::VIOLATED
    })
}

/// Returns the adapter that `command` names: a table of picklock.toml, an image, or a command line.
fn adapter(args: &AdapterCheckArgs, command: &str) -> Result<LockSpec, Failure> {
    let config = args.config.config.as_deref();
    let name = NamedLock::plain(&args.command);
    let is_command = command != args.command || command.contains(' ') || name.is_program();
    let impls = if is_command {
        ConfiguredLocks::default()
    } else {
        ConfiguredLocks::for_names(config, [&name])?
    };
    if let Some((one, _)) = impls.get(command) {
        return lock::configured(one.lock.clone(), &args.options);
    }
    if config.is_some() {
        // The name must be defined in that file; otherwise the error lists the defined names.
        return lock::named(&name, &args.options, &impls);
    }
    let given = if command.starts_with(DOCKER) {
        command.to_owned()
    } else {
        format!("{EXEC}{command}")
    };
    lock::named(&NamedLock::plain(&given), &args.options, &impls)
}

fn lease(ttl: LeaseDuration) -> Result<Duration, Failure> {
    match ttl {
        LeaseDuration::Absolute(lease) if LEASES.contains(&lease) => Ok(lease),
        other => Err(Failure::Usage(inert!(
            "--ttl {}: expected a lease from 100ms to 60s",
            other
        ))),
    }
}

fn setup(
    args: &AdapterCheckArgs,
    adapter: LockSpec,
    lease: Duration,
) -> Result<ConformanceSetup, Failure> {
    Ok(ConformanceSetup {
        worker: lock::worker_command(&adapter)?,
        options: adapter.options.into_iter().collect(),
        lease,
        seed: rng::fresh_seed()
            .map_err(|error| Failure::Environment(inert!("no entropy: {}", error)))?,
        server: Binary::find(args.redis_server.as_deref())?,
        reaper: lock::this_program()?,
        reaper_args: vec!["reaper".into()],
    })
}

fn not_checked(error: ConformanceError) -> Failure {
    Failure::Environment(inert!("{}", error))
}

fn document(command: &str, lease: Duration, report: &ConformanceReport) -> Result<String, Failure> {
    let document = Document {
        format: FORMAT,
        command,
        adapter: Adapter {
            name: report.name.as_deref(),
            version: report.version.as_deref(),
        },
        redis: &report.redis,
        ttl_ms: lease.as_millis(),
        passed: report.passed(),
        checks: &report.checks,
    };
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Failure::Environment(inert!("cannot write the document: {}", error)))?;
    Ok(text)
}
