//! The setup of a search: from the command line to the lock under test, and to the violations that count.

use picklock_harness::search::fault_model::Group;
use picklock_harness::search::{Target, ViolationFilter};
use picklock_harness::spec::{LockSpec, ServerChoice};

use super::cli::SearchArgs;
use super::shard;
use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::lock;
use crate::matrix::request::processors;

/// The lock under test of a search.
pub struct LockUnderTest {
    pub spec: LockSpec,
    pub servers: ServerChoice,
    pub wanted: ViolationFilter,
    pub groups: Vec<Group>,
    pub shard: (u64, u64),
    pub threads: usize,
}

impl LockUnderTest {
    /// From the command line.
    ///
    /// # Errors
    /// Returns an error if there is no such lock, or if the shard is invalid.
    pub fn of_args(args: &SearchArgs) -> Result<LockUnderTest, Failure> {
        let named = args.lock.named();
        let impls = ConfiguredLocks::for_names(args.config.config.as_deref(), [&named])?;
        let spec = lock::named(&named, &args.options, &impls)?;
        let groups = match args.faults.as_slice() {
            [] => Group::ALL.to_vec(),
            some => some.to_vec(),
        };
        let environment = |name: &str| std::env::var(name).ok();
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
            shard: shard::parse(args.shard.as_deref(), environment)?,
            threads: args.jobs.unwrap_or_else(processors).max(1),
        })
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
