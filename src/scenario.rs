//! `picklock scenario`: one run, from the command line to the report.

use std::io::Write;

use picklock_harness::assemble::{About, assemble};
use picklock_harness::check::judge;
use picklock_harness::history::{History, write_history};
use picklock_harness::latency;
use picklock_harness::real::RunDir;
use picklock_harness::record::{Phases, Redis, RunRecord};
use picklock_harness::wire::WireLog;
use picklock_reports::{json, repro, terminal};

use crate::backend::{self, Chosen, Place, Wanted};
use crate::cli::ScenarioArgs;
use crate::exit::{self, Failure};
use crate::interrupt::Interrupt;
use crate::order::Order;
use crate::output::RunDirectory;
use crate::{judge as verdict, print, real_run, sim_run};

/// What a run leaves, whatever world it happened in.
pub struct Ran {
    /// What happened.
    pub history: History,
    /// The servers.
    pub redis: Redis,
    /// How long the phases took.
    pub phases: Phases,
    /// The subject's version, if it tells.
    pub subject_version: Option<String>,
    /// The command log; a simulation has one only if it is to be kept.
    pub wire: Option<WireLog>,
    /// What workers and servers of real worlds wrote; removed when it is dropped.
    pub logs: Option<RunDir>,
}

/// Runs it, judges it, prints it, keeps it.
///
/// # Errors
/// Wrong usage, or a machine that cannot do it. A violated property is no error.
pub async fn run(args: ScenarioArgs) -> Result<u8, Failure> {
    let order = Order::understand(args)?;
    Ok(code_of(&carry_out(&order).await?))
}

/// The exit code for a run.
pub fn code_of(record: &RunRecord) -> u8 {
    match record.interrupted {
        true => exit::INTERRUPTED,
        false => verdict::code_of(&record.verdicts),
    }
}

/// As [`run`], for an order that is understood.
///
/// # Errors
/// As [`run`].
pub async fn carry_out(order: &Order) -> Result<RunRecord, Failure> {
    let out = match &order.args.out {
        Some(path) => Some(RunDirectory::create(path)?),
        None => None,
    };
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Environment(format!("cannot listen to signals: {error}")))?;
    let chosen = backend::choose(Wanted {
        backend: order.args.backend,
        image: order.args.servers.image.as_deref(),
        redis_server: order.args.servers.redis_server.as_deref(),
        can_simulate: order.subject.is_built_in,
        scenario: Some(&order.scenario),
    })
    .await?;
    announce(order, &chosen);
    let ran = match &chosen.place {
        Place::Real(world) => real_run::run(order, world, &interrupt).await?,
        Place::Sim => sim_run::run(order, out.is_some())?,
    };
    let record = record(order, &chosen, &ran);
    if let Some(out) = &out {
        keep(out, order, &ran, &record)?;
    }
    if order.args.json {
        print::out(&format!("{}\n", json::run_json(&record)));
    } else {
        print::out(&terminal::run(&record, &ran.history, print::width()));
    }
    Ok(record)
}

/// The first line says what was chosen and why.
fn announce(order: &Order, chosen: &Chosen) {
    let line = format!(
        "backend {} ({}), seed {}\n",
        chosen.name(),
        chosen.reason,
        order.seed
    );
    if order.args.json {
        print::err(&line);
    } else {
        print::out(&line);
    }
}

/// What the run leaves, judged.
pub fn record(order: &Order, chosen: &Chosen, ran: &Ran) -> RunRecord {
    let about = About {
        picklock: env!("CARGO_PKG_VERSION").to_owned(),
        subject_version: ran
            .subject_version
            .clone()
            .unwrap_or_else(|| order.subject.version.clone()),
        summary: order.scenario.summary.clone(),
        backend_reason: chosen.reason.clone(),
        redis: ran.redis.clone(),
        latency: latency::of_history(&ran.history),
        phases: ran.phases,
        reproduce: order.reproduce(chosen.name()),
    };
    assemble(&ran.history, judge(&ran.history), about)
}

/// Writes the run into its directory.
///
/// # Errors
/// The disk is full, or the directory went away.
pub fn keep(
    out: &RunDirectory,
    order: &Order,
    ran: &Ran,
    record: &RunRecord,
) -> Result<(), Failure> {
    if let Some(logs) = &ran.logs {
        out.copy_logs(logs.path())?;
    }
    if let Some(wire) = &ran.wire {
        out.write("wire.jsonl", |file| wire.write(file))?;
    }
    out.write("history.jsonl", |file| write_history(&ran.history, file))?;
    let text = repro::text(&crate::repro::of(order, record))
        .map_err(|error| Failure::Environment(format!("cannot write {}: {error}", repro::FILE)))?;
    out.write(repro::FILE, |file| file.write_all(text.as_bytes()))?;
    // Last: a directory with a run.json in it is whole.
    out.write("run.json", |file| {
        writeln!(file, "{}", json::run_json(record))
    })
}
