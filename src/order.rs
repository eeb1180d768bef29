//! What the user ordered: understood and checked before anything starts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use picklock_harness::context::Plan;
use picklock_harness::entropy;
use picklock_impls::{OptionError, find};
use picklock_scenarios::{Scenario, Span, WorldName, catalog, nearest};

use crate::cli::ScenarioArgs;
use crate::exit::Failure;
use crate::subject::Subject;

/// What the user ordered, understood and checked before anything starts.
#[derive(Debug, Clone)]
pub struct Order {
    /// As it was typed.
    pub args: ScenarioArgs,
    /// The scenario, with what the command line changes in it.
    pub scenario: Scenario,
    /// The lock.
    pub subject: Subject,
    /// This binary.
    pub program: PathBuf,
    /// How many independent nodes.
    pub nodes: usize,
    /// Lease time.
    pub ttl: Duration,
    /// Seed of the run.
    pub seed: u64,
    /// The repro file that alone has the scenario any more.
    replayed: Option<PathBuf>,
}

impl Order {
    /// Understands the command line.
    ///
    /// # Errors
    /// What is wrong with it, or with the scenario file.
    pub fn understand(args: ScenarioArgs) -> Result<Order, Failure> {
        Order::of(args, load)
    }

    /// Understands the command line, with a scenario from elsewhere than its name leads to.
    ///
    /// # Errors
    /// As [`Order::understand`].
    pub fn of(
        args: ScenarioArgs,
        scenario: impl FnOnce(&str) -> Result<Scenario, Failure>,
    ) -> Result<Order, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::Environment(format!("cannot find this program again: {error}"))
        })?;
        let subject = Subject::named(&args.subject, &program)?;
        check_options(&args, &subject)?;
        let scenario = fitted(scenario(&args.scenario)?, &args, &subject)?;
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
            replayed: None,
        })
    }

    /// The same; what repeats it is the replay of a file, because nothing else has its scenario.
    #[must_use]
    pub fn replaying(self, file: PathBuf) -> Order {
        Order {
            replayed: Some(file),
            ..self
        }
    }

    /// The same with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Order {
        Order {
            seed,
            ..self.clone()
        }
    }

    /// The numbers of the run.
    pub fn plan(&self) -> Plan {
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
    pub fn reproduce(&self, backend: WorldName) -> String {
        let args = &self.args;
        if let Some(file) = &self.replayed {
            let file = file.display().to_string();
            return quoted(&["picklock", "replay", &file, "--backend", backend.word()]);
        }
        let mut words = vec![
            "picklock".to_owned(),
            "scenario".to_owned(),
            args.scenario.clone(),
            "--impl".to_owned(),
            args.subject.clone(),
        ];
        let mut flag = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        flag("backend", backend.to_string());
        flag("seed", self.seed.to_string());
        for (key, value) in &args.options {
            flag("impl-option", format!("{key}={value}"));
        }
        let given = [
            ("workers", args.workers.map(|workers| workers.to_string())),
            ("nodes", args.nodes.map(|nodes| nodes.to_string())),
            ("ttl", args.ttl.map(|ttl| ttl.to_string())),
            ("image", args.servers.image.clone()),
            (
                "redis-server",
                (args.servers.redis_server.as_ref()).map(|path| path.display().to_string()),
            ),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                flag(name, value);
            }
        }
        quoted(&words)
    }
}

/// The words as a shell reads them.
fn quoted(words: &[impl AsRef<str>]) -> String {
    let words = words.iter().map(AsRef::as_ref);
    words.map(shell_words::quote).collect::<Vec<_>>().join(" ")
}

/// Holds the options against what the lock declares. What a program of the user's own knows, only
/// that program can say.
fn check_options(args: &ScenarioArgs, subject: &Subject) -> Result<(), Failure> {
    let mut seen = std::collections::BTreeSet::new();
    for (name, value) in &args.options {
        let wrong = |what: String| {
            Err(Failure::Usage(format!(
                "--impl-option {name}={value}: {what}"
            )))
        };
        if !seen.insert(name) {
            return wrong(format!("`{name}` was given twice"));
        }
        let strategy = find(&subject.name).filter(|_| subject.is_built_in);
        let Some(strategy) = strategy else { continue };
        let Err(error) = strategy.read_options([(name.as_str(), value.as_str())]) else {
            continue;
        };
        let mut text = error.to_string();
        if let OptionError::Unknown { name, declared } = &error
            && let Some(meant) = nearest(name, declared.iter().copied())
        {
            text.push_str(&format!("\n  = help: did you mean `{meant}`?"));
        }
        return wrong(text);
    }
    Ok(())
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
    // A lock may need more replicas than the scenario gives everybody.
    scenario.topology.replicas = scenario.topology.replicas.max(subject.replicas);
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

/// A scenario of the catalog, or of a file.
///
/// # Errors
/// What is wrong with the name or with the file.
pub fn load(name: &str) -> Result<Scenario, Failure> {
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
