//! The setup of a search: from the command line to the lock under test, and to the violations that count.

use std::path::Path;

use picklock_harness::search::fault_model::Group;
use picklock_harness::search::{Target, ViolationFilter};
use picklock_harness::spec::{LockSpec, ServerChoice};
use picklock_reports::inert;

use super::cli::SearchArgs;
use super::shard;
use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::lock;
use crate::matrix::request::processors;
use crate::output_directory::OutputDirectory;

/// The directory for counterexamples without `--out`.
const DEFAULT_OUT: &str = "picklock-counterexamples";

/// The lock under test of a search.
pub struct LockUnderTest {
    pub spec: LockSpec,
    pub servers: ServerChoice,
    pub wanted: ViolationFilter,
    pub groups: Vec<Group>,
    pub shard: (u64, u64),
    pub threads: usize,
    /// Directory of its counterexamples.
    pub out: OutputDirectory,
}

impl LockUnderTest {
    /// Reads the lock and the limits of a search from its command line.
    ///
    /// # Errors
    /// Returns an error if there is no such lock, or if the shard is invalid.
    pub fn from_args(args: &SearchArgs) -> Result<LockUnderTest, Failure> {
        let named = args.lock.named();
        let impls = ConfiguredLocks::for_names(args.config.config.as_deref(), [&named])?;
        let spec = lock::named(&named, &args.options, &impls)?;
        let groups = match args.faults.as_slice() {
            [] => Group::ALL.to_vec(),
            some => some.to_vec(),
        };
        let environment = |name: &str| std::env::var(name).ok();
        let shard = shard::parse(args.shard.as_deref(), environment)?;
        Ok(LockUnderTest {
            spec,
            servers: ServerChoice {
                named: args.server,
                ..ServerChoice::default()
            },
            wanted: ViolationFilter {
                properties: args.properties.clone(),
                outlived_lease: args.outlived_lease,
                ..ViolationFilter::default()
            },
            groups,
            shard,
            out: out_of(args, shard),
            threads: args.jobs.unwrap_or_else(processors).max(1),
        })
    }

    /// Creates the directory that the user named, and locks it against other searches. The default directory is created
    /// only for a counterexample.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created, if another process writes to it, or if the default
    /// directory is a symbolic link.
    pub fn claim_out(&self, args: &SearchArgs) -> Result<(), Failure> {
        let out = &self.out;
        let claimed = match &args.out {
            Some(_) => out.make().and_then(|()| out.lock()),
            // The default directory is not opened here, because another search may remove it while it is empty.
            None => OutputDirectory::private(out.root())
                .by_default()
                .check(Path::new("search.json")),
        };
        let path = out.root().display();
        claimed.map_err(|error| Failure::Usage(inert!("--out {}: {}", path, error)))
    }

    /// Returns the lock with its code.
    pub fn target(&self) -> Result<Target, Failure> {
        Ok(Target {
            lock: lock::in_process(&self.spec)?,
            spec: self.spec.clone(),
            servers: self.servers.clone(),
        })
    }
}

/// Returns the directory for counterexamples. Shards that run in one directory must not overwrite each other's
/// counterexamples.
fn out_of(args: &SearchArgs, (shard, of): (u64, u64)) -> OutputDirectory {
    let default = |name: &str| OutputDirectory::private(Path::new(name)).by_default();
    match (&args.out, of) {
        (Some(out), _) => OutputDirectory::private(out),
        (None, 1) => default(DEFAULT_OUT),
        (None, of) => default(&format!("{DEFAULT_OUT}-{shard}-of-{of}")),
    }
}
