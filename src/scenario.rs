//! `picklock scenario`: one run, from the command line to the report.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use picklock_harness::assemble::{About, assemble};
use picklock_harness::check::judge;
use picklock_harness::clock::Clock;
use picklock_harness::driver::{self, RunError, Setup};
use picklock_harness::history::{History, write_history};
use picklock_harness::real::{Layout, Reaper, RunDir, Servers, sweep};
use picklock_harness::real_world::{Parts, RealWorld};
use picklock_harness::record::{Phases, Redis, RunRecord};
use picklock_harness::stage::{Moments, Plan, millis};
use picklock_harness::wire::Wire;
use picklock_harness::{entropy, latency};
use picklock_reports::escape::visible;
use picklock_reports::{json, terminal};
use picklock_scenarios::{Scenario, Span, catalog};

use crate::backend::{self, Chosen};
use crate::cli::ScenarioArgs;
use crate::exit::{self, Failure};
use crate::interrupt::Interrupt;
use crate::live::Live;
use crate::output::RunDirectory;
use crate::subject::Subject;
use crate::{judge as verdict, print};

/// Runs it, judges it, prints it, keeps it.
///
/// # Errors
/// Wrong usage, or a machine that cannot do it. A violated property is no error.
pub async fn run(args: ScenarioArgs) -> Result<u8, Failure> {
    let order = Order::understand(args)?;
    let out = match &order.args.out {
        Some(path) => Some(RunDirectory::create(path)?),
        None => None,
    };
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Environment(format!("cannot listen to signals: {error}")))?;
    let done = conduct(&order, &interrupt).await?;
    if let Some(out) = &out {
        keep(out, &done)?;
    }
    if order.args.json {
        print::out(&format!("{}\n", json::run_json(&done.record)));
    } else {
        print::out(&terminal::run(&done.record, &done.history, print::width()));
    }
    Ok(match done.record.interrupted {
        true => exit::INTERRUPTED,
        false => verdict::code_of(&done.record.verdicts),
    })
}

/// What the user ordered, understood and checked before anything starts.
struct Order {
    args: ScenarioArgs,
    scenario: Scenario,
    subject: Subject,
    program: PathBuf,
    nodes: usize,
    ttl: Duration,
    seed: u64,
}

impl Order {
    fn understand(args: ScenarioArgs) -> Result<Order, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::Environment(format!("cannot find this program again: {error}"))
        })?;
        let subject = Subject::named(&args.subject, &program)?;
        let scenario = fitted(load(&args.scenario)?, &args, &subject)?;
        let Span::Absolute(ttl) = scenario.workload.ttl else {
            return Err(Failure::Usage(
                "--ttl: expected a time such as 500ms or 2s".into(),
            ));
        };
        let seed = match args.seed {
            Some(seed) => seed,
            None => entropy::fresh_seed()
                .map_err(|error| Failure::Environment(format!("no entropy: {error}")))?,
        };
        Ok(Order {
            nodes: scenario.topology.nodes.unwrap_or(subject.nodes),
            args,
            scenario,
            subject,
            program,
            ttl,
            seed,
        })
    }

    fn plan(&self) -> Plan {
        let keys = 0..self.scenario.workload.keys;
        Plan {
            scenario: self.scenario.clone(),
            ttl: self.ttl,
            nodes: self.nodes,
            // Of one width, so that no key is the beginning of another.
            keys: keys.map(|key| format!("picklock:stock:{key:04}")).collect(),
            seed: self.seed,
            options: self.args.options.iter().cloned().collect(),
        }
    }

    /// The command that repeats the run.
    fn reproduce(&self, backend: &str) -> String {
        let args = &self.args;
        let mut words = vec![
            "picklock".to_owned(),
            "scenario".to_owned(),
            args.scenario.clone(),
            "--impl".to_owned(),
            args.subject.clone(),
        ];
        let mut flag = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        flag("backend", backend.to_owned());
        flag("seed", self.seed.to_string());
        for (key, value) in &args.options {
            flag("impl-option", format!("{key}={value}"));
        }
        let given = [
            ("workers", args.workers.map(|workers| workers.to_string())),
            ("nodes", args.nodes.map(|nodes| nodes.to_string())),
            ("ttl", args.ttl.map(|ttl| ttl.to_string())),
            ("image", args.image.clone()),
            (
                "redis-server",
                args.redis_server
                    .as_ref()
                    .map(|path| path.display().to_string()),
            ),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                flag(name, value);
            }
        }
        let quoted: Vec<String> = words
            .iter()
            .map(|word| shell_words::quote(word).into())
            .collect();
        quoted.join(" ")
    }
}

/// The scenario with what the command line changes in it, held against what the subject wants.
/// Whatever does not fit is blamed on the flag that made it so, else on the file.
fn fitted(
    mut scenario: Scenario,
    args: &ScenarioArgs,
    subject: &Subject,
) -> Result<Scenario, Failure> {
    let fits = |scenario: &Scenario, blame: String| {
        scenario.check_for(subject.nodes).map_err(|mut error| {
            error.file = blame;
            Failure::Usage(error.to_string())
        })
    };
    if let Some(nodes) = args.nodes {
        scenario.topology.nodes = Some(nodes);
        fits(&scenario, format!("--nodes {nodes}"))?;
    }
    fits(&scenario, args.scenario.clone())?;
    if let Some(workers) = args.workers {
        scenario.workload.workers = workers;
        fits(&scenario, format!("--workers {workers}"))?;
    }
    if let Some(ttl) = args.ttl {
        scenario.workload.ttl = ttl;
        fits(&scenario, format!("--ttl {ttl}"))?;
    }
    Ok(scenario)
}

fn load(name: &str) -> Result<Scenario, Failure> {
    let bad = |error: picklock_scenarios::ScenarioError| Failure::Usage(error.to_string());
    let is_path = Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "toml");
    if !is_path {
        return catalog::named(name).map_err(bad);
    }
    let text = std::fs::read_to_string(name)
        .map_err(|error| Failure::Usage(format!("{name}: cannot read the scenario: {error}")))?;
    Scenario::parse(&text, name).map_err(bad)
}

/// What a run leaves for the report.
struct Done {
    record: RunRecord,
    history: History,
    wire: Wire,
    // The logs lie in here until they are copied.
    dir: RunDir,
}

async fn conduct(order: &Order, interrupt: &Interrupt) -> Result<Done, Failure> {
    let chosen = backend::choose(&order.args).await?;
    announce(order, &chosen);
    let live = Rc::new(Live::new(order.args.quiet));
    let clock = Clock::start();
    let (moments, due) = Moments::of(&order.scenario.faults);
    let moments = Arc::new(moments);
    let plan = order.plan();
    let wire = Wire::new(
        clock.clone(),
        plan.keys.clone(),
        order.seed,
        moments.clone(),
    );
    live.phase("setting up: servers and workers");
    let preparing = prepare(order, &chosen, &wire);
    let (world, redis, dir) = tokio::select! {
        () = interrupt.clone().wanted() => return Err(Failure::Interrupted),
        prepared = preparing => prepared?,
    };
    let listener = Rc::clone(&live);
    let setup = Setup {
        plan,
        subject: order.subject.name.clone(),
        clock: clock.clone(),
        moments,
        due,
        listener: Box::new(move |event| listener.event(event)),
    };
    let world = Rc::new(world);
    let ran = driver::run(Rc::clone(&world), setup, interrupt.clone().wanted()).await;
    let ran = ran.map_err(|error| with_log(&error, dir.path()))?;
    live.phase("taking down");
    let before = clock.elapsed();
    world
        .take_down()
        .await
        .map_err(|error| Failure::Environment(error.to_string()))?;
    drop(live);
    let about = About {
        picklock: env!("CARGO_PKG_VERSION").to_owned(),
        subject_version: ran
            .subject_version
            .unwrap_or_else(|| order.subject.version.clone()),
        summary: order.scenario.summary.clone(),
        backend_reason: chosen.reason.clone(),
        redis,
        latency: latency::of_history(&ran.history),
        phases: Phases {
            setup_ms: millis(ran.setup),
            workload_ms: millis(ran.workload),
            teardown_ms: millis(clock.elapsed().saturating_sub(before)),
        },
        reproduce: order.reproduce(chosen.name()),
    };
    let record = assemble(&ran.history, judge(&ran.history), about);
    Ok(Done {
        record,
        history: ran.history,
        wire,
        dir,
    })
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

async fn prepare(
    order: &Order,
    chosen: &Chosen,
    wire: &Wire,
) -> Result<(RealWorld, Redis, RunDir), Failure> {
    let reaper = Reaper::spawn(&order.program, &[OsString::from("reaper")])
        .map_err(|error| Failure::Environment(error.to_string()))?;
    // What an earlier run was not able to clean up, we do.
    sweep().await;
    let dir = RunDir::create(&reaper).map_err(|error| Failure::Environment(error.to_string()))?;
    let layout = Layout {
        nodes: order.nodes,
        replicas: order.scenario.topology.replicas,
        persistence: order.scenario.topology.persistence,
    };
    let servers = chosen.start(layout, dir.path(), &reaper).await?;
    let redis = servers.server().clone();
    let world = RealWorld::new(Parts {
        name: chosen.name(),
        servers,
        nodes: order.nodes,
        wire: wire.clone(),
        argv: order.subject.argv.clone(),
        logs: dir.path().to_owned(),
        reaper,
    });
    Ok((world, redis, dir))
}

/// An environment failure with the last words of the worker, which say more than we can.
fn with_log(error: &RunError, dir: &Path) -> Failure {
    let mut text = error.to_string();
    let RunError::Worker { worker, heard, .. } = error;
    if let Some(line) = heard {
        text.push_str(&format!(
            "\n  worker {worker} wrote to its standard output, which is for the adapter protocol only:\n    {}",
            visible(line)
        ));
    }
    let log = std::fs::read_to_string(dir.join(format!("worker-{worker}.log"))).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let last = &lines[lines.len().saturating_sub(8)..];
    if !last.is_empty() {
        text.push_str(&format!("\n  worker {worker} wrote to its standard error:"));
        for line in last {
            text.push_str(&format!("\n    {}", visible(line)));
        }
    }
    Failure::Environment(text)
}

fn keep(out: &RunDirectory, done: &Done) -> Result<(), Failure> {
    out.copy_logs(done.dir.path())?;
    out.write("wire.jsonl", |file| done.wire.log().write(file))?;
    out.write("history.jsonl", |file| write_history(&done.history, file))?;
    // Last: a directory with a run.json in it is whole.
    out.write("run.json", |file| {
        use std::io::Write;
        writeln!(file, "{}", json::run_json(&done.record))
    })
}
