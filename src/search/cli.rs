//! The command lines of `picklock sweep`, `hunt` and `merge`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use picklock_harness::named_server::NamedServer;
use picklock_harness::search::fault_model::Group;
use picklock_scenarios::{BackendName, LeaseDuration, Property};

use crate::cli::{ConfigArgs, LockArgs, MAX_JOBS, key_value, whole, within};

/// Maximum number of faults in one schedule. Each further fault multiplies the number of schedules by some hundreds.
const MAX_DEPTH: usize = 16;

/// Maximum number of workers of a search.
const MAX_WORKERS: usize = 10_000;

/// Options shared by `sweep` and `hunt`.
#[derive(Debug, Clone, Args)]
pub struct SearchArgs {
    #[command(flatten)]
    pub lock: LockArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    /// An option for the lock, as KEY=VALUE. Repeatable.
    #[arg(long = "impl-option", visible_alias = "lock-option", value_name = "KEY=VALUE", value_parser = key_value)]
    pub options: Vec<(String, String)>,
    /// Groups of faults: network, clients, nodes, data, clocks. Default: all.
    #[arg(long, value_name = "GROUP", value_delimiter = ',', value_parser = group)]
    pub faults: Vec<Group>,
    /// Only violations of these properties count. Default: all properties.
    #[arg(long = "property", value_name = "PROPERTY", value_delimiter = ',', value_parser = property)]
    pub properties: Vec<Property>,
    /// Count a client that outlives its lease as a violation of `exclusion`, although no lock with a lease can
    /// prevent it.
    #[arg(long)]
    pub outlived_lease: bool,
    /// Seed. Not random, so that a search is repeatable.
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub seed: u64,
    /// Number of independent Redis nodes. Default: as many as the lock needs.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub nodes: Option<usize>,
    /// The server that is simulated, as for `picklock scenario --server`.
    #[arg(long, value_name = "NAME")]
    pub server: Option<NamedServer>,
    /// Run only part I of N of the search, counted from 1. `auto/N` takes I from JOB_COMPLETION_INDEX (a Kubernetes
    /// indexed Job) or SLURM_ARRAY_TASK_ID, which count from 0, or from PICKLOCK_SHARD, which counts from 1.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<String>,
    /// Number of threads, or of runs at a time on servers. Default: the number of processors; a hunt on server
    /// processes begins with twice that.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = within::<1, MAX_JOBS>)]
    pub jobs: Option<usize>,
    /// Print one JSON document (format picklock-search/1) instead of text.
    #[arg(long)]
    pub json: bool,
    /// Save the search to this directory: search.json, and one directory with a repro.toml per counterexample.
    /// Default: picklock-counterexamples (a shard: picklock-counterexamples-I-of-N), only if there is one.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Do not show live progress.
    #[arg(long, short)]
    pub quiet: bool,
}

/// `picklock sweep`.
#[derive(Debug, Clone, Args)]
#[command(after_help = SWEEP_HELP)]
pub struct SweepArgs {
    #[command(flatten)]
    pub search: SearchArgs,
    /// Maximum number of faults in one schedule. With 0, only the run without faults is made.
    #[arg(long, value_name = "K", default_value = "1", allow_negative_numbers = true, value_parser = within::<0, MAX_DEPTH>)]
    pub depth: usize,
    /// Workload of the clients: `short` (hold the lock briefly), `held` (for most of the lease), `extend` (the
    /// same, with extensions), `keys` (want two locks, and give up soon), `waiting` (wait for many leases),
    /// or the path of a scenario file, whose faults are ignored.
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "short")]
    pub workload: String,
    /// Number of competing workers. Default: the workload's.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = within::<1, MAX_WORKERS>)]
    pub workers: Option<usize>,
    /// Lease time, such as "500ms" or "2s". Default: the workload's.
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<LeaseDuration>,
}

/// `picklock hunt`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HUNT_HELP)]
#[group(id = "end", required = true, multiple = true, args = ["runs", "time"])]
pub struct HuntArgs {
    #[command(flatten)]
    pub search: SearchArgs,
    /// Number of plans to try.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub runs: Option<u64>,
    /// Time budget for trying plans, such as "30s" or "10m".
    #[arg(long = "for", id = "time", value_name = "DURATION")]
    pub time: Option<LeaseDuration>,
    /// Backend of the runs: `sim`, or servers that Picklock starts, which your own program needs. On servers a hunt
    /// begins with the catalog, and a violation counts if it occurs in more than half of five runs.
    #[arg(long, value_enum, default_value_t = HuntedBackend::Sim)]
    pub backend: HuntedBackend,
    /// On servers, also count violations that every lock on such servers shows, such as those after a flush, an
    /// eviction or a failover, and those of a client that outlives its lease.
    #[arg(long)]
    pub unavoidable: bool,
    /// Draw plans uniformly, without learning from earlier runs (for comparison).
    #[arg(long = "uniform", id = "unbiased")]
    pub uniform: bool,
}

/// The backends of a hunt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HuntedBackend {
    /// A simulation in virtual time.
    Sim,
    /// Real redis-server processes.
    Process,
    /// Real Redis containers.
    Docker,
}

impl HuntedBackend {
    /// Returns the backend with servers, or `None` for the simulation.
    pub fn servers(self) -> Option<BackendName> {
        match self {
            HuntedBackend::Sim => None,
            HuntedBackend::Process => Some(BackendName::Process),
            HuntedBackend::Docker => Some(BackendName::Docker),
        }
    }
}

/// `picklock merge`.
#[derive(Debug, Clone, Args)]
#[command(after_help = MERGE_HELP)]
pub struct MergeArgs {
    /// The documents of the parts: what `--json` printed, or the search.json or matrix.json of `--out`.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print one JSON document (format picklock-search/1 or picklock-matrix/1) instead of text.
    #[arg(long)]
    pub json: bool,
}

const SWEEP_HELP: &str = "\
Runs the workload once without faults, lists its injection points (each command and reply of each client
and node, each step of each client), places every fault at each of them, and judges each run. Everything
is simulated. The report states how much that covers.

Exit codes:
  0    no counterexample
  1    a counterexample
  2    wrong usage, or a bad input file
  3    a schedule did not end, and nothing was found
  130  interrupted; the counterexamples so far are printed and saved

Examples:
  picklock sweep --impl set-nx-px
  picklock sweep --impl redlock --faults network,clients --property lease
  picklock sweep --impl redlock --depth 2 --shard 1/4 --json > part-1.json";

const HUNT_HELP: &str = "\
Draws workloads and faults at random, mostly where locks tend to break, and varies plans that showed something
new. The same seed and number of runs give the same counterexamples. After an interruption, the same command with
--out continues.

Exit codes: as for `picklock sweep`

Examples:
  picklock hunt --impl set-nx-px --runs 2000
  picklock hunt --impl redlock --for 10m --property lease
  picklock hunt --impl \"exec:python3 my_lock.py\" --backend process --for 10m";

const MERGE_HELP: &str = "\
Shards of a sweep or a hunt become one search. Missing shards are named, and the result
can be merged with them later. Matrices of different cells become one table. Parts of different
searches, versions, seeds or scenarios, and parts that overlap, are refused.

Exit codes:
  0    no counterexample (matrices: every cell as its scenario expects)
  1    a counterexample (matrices: a result differs from the expectation)
  2    a file is not a part, or belongs to another search or matrix
  3    shards are missing or were interrupted, and no counterexample was found (matrices: inconclusive)

Examples:
  picklock merge part-1.json part-2.json part-3.json part-4.json";

fn group(word: &str) -> Result<Group, String> {
    known(Group::named(word), "group", &Group::ALL.map(Group::as_str))
}

fn property(word: &str) -> Result<Property, String> {
    let all = Property::ALL.map(Property::as_str);
    known(Property::named(word), "property", &all)
}

fn known<T>(found: Option<T>, what: &str, all: &[&str]) -> Result<T, String> {
    found.ok_or_else(|| format!("no such {what}; there are {}", all.join(", ")))
}

impl SearchArgs {
    /// Returns the words of the command line that repeats the search. `own` contains the flags that only this command
    /// has.
    pub fn command(
        &self,
        command: &str,
        own: impl IntoIterator<Item = (&'static str, Option<String>)>,
    ) -> Vec<String> {
        let mut words = vec![command.to_owned()];
        // A value may begin with a dash.
        let flag = |name: &str, value: String| {
            if value.starts_with('-') {
                vec![format!("--{name}={value}")]
            } else {
                vec![format!("--{name}"), value]
            }
        };
        let (name, value) = self.lock.named().flag();
        words.extend(flag(name, value));
        for (key, value) in &self.options {
            words.extend(flag("impl-option", format!("{key}={value}")));
        }
        let joined = |words: Vec<String>| (!words.is_empty()).then(|| words.join(","));
        let faults = self.faults.iter().map(ToString::to_string).collect();
        let properties = self.properties.iter().map(ToString::to_string).collect();
        let config = self.config.config.as_ref();
        for (name, value) in [
            ("faults", joined(faults)),
            ("property", joined(properties)),
            ("config", config.map(|it| it.display().to_string())),
            ("nodes", self.nodes.map(|it| it.to_string())),
            ("server", self.server.map(|it| it.name().to_owned())),
            ("shard", self.shard.clone()),
            ("seed", Some(self.seed.to_string())),
        ] {
            words.extend(value.into_iter().flat_map(|it| flag(name, it)));
        }
        if self.outlived_lease {
            words.push("--outlived-lease".to_owned());
        }
        for (name, value) in own {
            words.extend(value.into_iter().flat_map(|it| flag(name, it)));
        }
        words
    }
}
