//! The kinds of locks for which `init` has an example, and what the gate demands of each.

use clap::ValueEnum;
use picklock_scenarios::LockKind;

/// The kind of a new lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// One client at a time.
    #[default]
    Mutex,
    /// As many clients as there are permits.
    Semaphore,
    /// Many readers, or one writer.
    Rwlock,
    /// One client leads, and acts again and again.
    Leader,
    /// A lock around a scheduled job that must run on one instance only.
    Cron,
}

impl Kind {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Mutex => "mutex",
            Kind::Semaphore => "semaphore",
            Kind::Rwlock => "rwlock",
            Kind::Leader => "leader",
            Kind::Cron => "cron",
        }
    }

    /// Returns the kind that the table `[impl.NAME]` declares.
    pub fn declared(self) -> LockKind {
        match self {
            Kind::Mutex | Kind::Cron => LockKind::Mutex,
            Kind::Semaphore => LockKind::Semaphore,
            Kind::Rwlock => LockKind::Rwlock,
            Kind::Leader => LockKind::Leader,
        }
    }

    /// Returns the name of the example in `picklock.toml`.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Mutex => "my-lock",
            Kind::Semaphore => "my-semaphore",
            Kind::Rwlock => "my-rwlock",
            Kind::Leader => "my-leader",
            Kind::Cron => "my-cron",
        }
    }

    /// Returns a command of a language for the example of this kind: its file replaces `my_lock`, and its class
    /// replaces `MyLock`.
    pub fn in_command(self, command: &str) -> String {
        let (file, class) = match self {
            Kind::Mutex => ("my_lock", "MyLock"),
            Kind::Semaphore => ("my_semaphore", "MySemaphore"),
            Kind::Rwlock => ("my_rwlock", "MyRwlock"),
            Kind::Leader => ("my_leader", "MyLeader"),
            Kind::Cron => ("my_cron", "MyCron"),
        };
        command.replace("my_lock", file).replace("MyLock", class)
    }

    /// Returns the scenario to begin with. A lock whose permits never expire fails that of a semaphore.
    pub fn first_scenario(self) -> &'static str {
        match self {
            Kind::Mutex => "gc-pause",
            Kind::Semaphore => "permits-holder-crash",
            Kind::Rwlock => "read-write-reader-crash",
            Kind::Leader => "leader-pause",
            Kind::Cron => "ticks-short-job",
        }
    }

    /// Returns the lines of the configuration that choose the gate's scenarios.
    pub fn chosen(self) -> &'static str {
        match self {
            Kind::Mutex | Kind::Semaphore | Kind::Rwlock | Kind::Leader => "profile = \"quick\"",
            Kind::Cron => {
                "scenarios = [\n    \"ticks\", \"ticks-short-job\", \"ticks-long-job\", \"ticks-slow-job\", \"ticks-catch-up\",\n    \
                 \"ticks-crash\", \"ticks-pause\", \"ticks-lost-reply\", \"ticks-refused-command\", \"ticks-eviction\",\n]"
            }
        }
    }

    /// Returns what the gate expects if a holder is frozen for longer than its lease or, for a job, is done early.
    /// `resource` is for a lock whose holder outlives its lease.
    pub fn expected(self, resource: &str) -> String {
        let scenario = match self {
            Kind::Semaphore => "permits-pause",
            Kind::Rwlock => "read-write-pause",
            Kind::Mutex | Kind::Leader | Kind::Cron => self.first_scenario(),
        };
        match self {
            Kind::Mutex | Kind::Semaphore | Kind::Rwlock => format!(
                "# A holder that is frozen for longer than its lease. No lock with a timeout can prevent that\n\
                 # {} inside then: this is expected, and the gate fails if it no longer\n\
                 # occurs. If your lock gives fencing tokens, the resource is protected: write \"held\" there.\n\
                 [[expect]]\nscenario = \"{scenario}\"\nexclusion = \"violated: outlived-lease\"\nresource = \"{resource}\"\n",
                self.inside()
            ),
            Kind::Leader => format!(
                "# A leader that is frozen for longer than its lease, and wakes. It asks before each act, so it\n\
                 # must not act any more.\n[[expect]]\nscenario = \"{scenario}\"\nexclusion = \"held\"\nresource = \"held\"\n"
            ),
            Kind::Cron => format!(
                "# A job that is over before the clocks of all instances have reached its tick.\n\
                 [[expect]]\nscenario = \"{scenario}\"\nonce = \"held\"\n"
            ),
        }
    }

    /// Returns the lines of the example of an accepted bug: where it occurs, and a reason.
    pub fn accepted(self) -> String {
        let (scenario, verdict, reason) = match self {
            Kind::Mutex => (
                "stale-delete",
                "ownership = \"violated: race\"",
                "the release compares and deletes in two commands",
            ),
            Kind::Semaphore => (
                "permits-holder-crash",
                "progress = \"violated: permit-leaked\"",
                "the permit of a client that crashed never expires",
            ),
            Kind::Rwlock => (
                "read-write-reader-crash",
                "progress = \"violated: permit-leaked\"",
                "the hold of a reader that crashed never expires",
            ),
            Kind::Leader => (
                "leader-eviction",
                "exclusion = \"violated: phantom-leader\"",
                "the leader acts until it resigns, whatever its renewals return",
            ),
            Kind::Cron => (
                "ticks-short-job",
                "once = \"violated: ran-twice\"",
                "the job ends before all clocks have reached its tick",
            ),
        };
        format!("# scenario = \"{scenario}\"\n# {verdict}\n# reason = \"issue 12: {reason}\"\n")
    }

    fn inside(self) -> &'static str {
        match self {
            Kind::Semaphore => "too many clients are",
            Kind::Rwlock => "a writer and another client are",
            Kind::Mutex | Kind::Leader | Kind::Cron => "two clients are",
        }
    }
}
