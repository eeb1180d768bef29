//! The fault model: the faults that a sweep places at every injection point, and from which shrinking takes weaker
//! faults.
//!
//! At a message, a fault affects the message, its link, its client or its node. At a step of the driver, it affects the
//! client, one node, or the smallest majority of the nodes. A fault of one message is placed only at messages.

use std::fmt;

use picklock_scenarios::{
    FaultKind, FaultPlan, LeaseDuration, Selection, ServerError, SignedDuration, Topology, Trigger,
    TriggerEvent, Who,
};

/// A group of faults, to which a search can be restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Delayed and lost messages, broken connections, and partitions.
    Network,
    /// Clients that freeze or die.
    Clients,
    /// Nodes that freeze, die, restart, refuse commands, or are replaced.
    Nodes,
    /// Nodes that lose keys or scripts.
    Data,
    /// Wall clocks that are wrong.
    Clocks,
}

impl Group {
    /// All groups.
    pub const ALL: [Group; 5] = [
        Group::Network,
        Group::Clients,
        Group::Nodes,
        Group::Data,
        Group::Clocks,
    ];

    /// Returns the word that command lines use.
    pub fn as_str(self) -> &'static str {
        match self {
            Group::Network => "network",
            Group::Clients => "clients",
            Group::Nodes => "nodes",
            Group::Data => "data",
            Group::Clocks => "clocks",
        }
    }

    /// Returns the group with this name, or `None` if there is no such group.
    pub fn named(word: &str) -> Option<Group> {
        Group::ALL.into_iter().find(|group| group.as_str() == word)
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Fires at a message, and affects the message or its link.
    Message,
    /// Fires only at a command, and affects that command or its link.
    Request,
    /// Fires at a message or a step, and affects the client.
    Client,
    /// Fires at a message or a step, and affects nodes.
    Node,
}

/// One fault of the model, without its injection point.
struct Row {
    group: Group,
    place: Place,
    fault: FaultPlan,
}

const fn leases(factor: f64) -> Option<LeaseDuration> {
    Some(LeaseDuration::Ttl(factor))
}

const fn by(factor: f64, back: bool) -> Option<SignedDuration> {
    let span = LeaseDuration::Ttl(factor);
    Some(SignedDuration { span, back })
}

/// Returns the fault model, weakest faults first.
fn rows() -> Vec<Row> {
    use FaultKind as Kind;
    let plain = FaultPlan::new;
    let row = |group, place, fault| Row {
        group,
        place,
        fault,
    };
    let network = |place, fault| row(Group::Network, place, fault);
    let one = |fault: FaultPlan| FaultPlan {
        frames: Some(1),
        ..fault
    };
    let lasts = |kind, factor| FaultPlan {
        duration: leases(factor),
        ..plain(kind)
    };
    let delay = |factor| {
        one(FaultPlan {
            by: by(factor, false),
            ..plain(Kind::Delay)
        })
    };
    let clock = |kind, back| FaultPlan {
        by: by(1.5, back),
        ..plain(kind)
    };
    let everywhere = |fault: FaultPlan| FaultPlan {
        nodes: Some(Selection::Word(Who::All)),
        ..fault
    };
    let refuses = |error| {
        one(FaultPlan {
            error: Some(error),
            ..plain(Kind::Answer)
        })
    };
    vec![
        network(Place::Message, delay(0.5)),
        network(Place::Message, delay(1.2)),
        network(Place::Message, one(plain(Kind::Drop))),
        network(Place::Message, plain(Kind::Cut)),
        network(Place::Client, everywhere(plain(Kind::Cut))),
        network(Place::Message, lasts(Kind::Partition, 1.5)),
        network(Place::Message, plain(Kind::Partition)),
        network(Place::Client, everywhere(lasts(Kind::Partition, 1.5))),
        network(Place::Client, everywhere(plain(Kind::Partition))),
        row(Group::Nodes, Place::Request, refuses(ServerError::Loading)),
        row(Group::Clients, Place::Client, lasts(Kind::PauseClient, 1.5)),
        row(Group::Clients, Place::Client, lasts(Kind::CrashClient, 0.1)),
        row(Group::Clients, Place::Client, plain(Kind::CrashClient)),
        row(Group::Data, Place::Node, plain(Kind::FlushScripts)),
        row(Group::Nodes, Place::Node, lasts(Kind::PauseNode, 1.5)),
        row(Group::Nodes, Place::Node, lasts(Kind::CrashNode, 0.02)),
        row(Group::Nodes, Place::Node, plain(Kind::CrashNode)),
        row(Group::Data, Place::Node, plain(Kind::Evict)),
        row(Group::Clocks, Place::Client, clock(Kind::ClockSkew, false)),
        row(Group::Clocks, Place::Client, clock(Kind::ClockSkew, true)),
        row(Group::Clocks, Place::Node, clock(Kind::ClockJump, false)),
        row(Group::Nodes, Place::Node, plain(Kind::CutReplication)),
        row(Group::Nodes, Place::Node, plain(Kind::Failover)),
    ]
}

/// The faults that can be placed in a run, given its nodes and replicas.
#[derive(Debug)]
pub struct FaultModel {
    rows: Vec<Row>,
    nodes: usize,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl FaultModel {
    /// Creates the model of the faults in these groups that are possible on `nodes` nodes.
    pub fn new(groups: &[Group], nodes: usize, topology: &Topology) -> FaultModel {
        let fits = |row: &Row| {
            groups.contains(&row.group)
                && (topology.replicas > 0 || !row.fault.kind.is_replicated())
                // With one node, each client has only one link, so a fault of that link equals a fault of all its
                // links.
                && (nodes > 1 || row.place != Place::Message || row.fault.frames.is_some())
        };
        let rows = rows().into_iter().filter(fits).collect();
        FaultModel { rows, nodes }
    }

    /// Returns a description of each fault.
    pub fn describe(&self) -> Vec<String> {
        self.rows
            .iter()
            .map(|row| describe_fault(&row.fault))
            .collect()
    }

    /// Returns every fault that can fire at this trigger, weakest first.
    pub fn at(&self, trigger: &Trigger) -> Vec<FaultPlan> {
        let placed = self.rows.iter().flat_map(|row| self.placed(row, trigger));
        placed.collect()
    }

    fn placed(&self, row: &Row, trigger: &Trigger) -> Vec<FaultPlan> {
        let same = || Some(Selection::Word(Who::Same));
        let fault = FaultPlan {
            when: Some(trigger.clone()),
            ..row.fault.clone()
        };
        let at_message = trigger.on.is_message();
        match row.place {
            Place::Request if trigger.on != TriggerEvent::Request => Vec::new(),
            Place::Message | Place::Request if !at_message => Vec::new(),
            Place::Message | Place::Request => vec![FaultPlan {
                workers: same(),
                nodes: same(),
                ..fault
            }],
            Place::Client => vec![FaultPlan {
                workers: same(),
                ..fault
            }],
            Place::Node if at_message => vec![FaultPlan {
                nodes: same(),
                ..fault
            }],
            Place::Node => {
                let first = |count: usize| FaultPlan {
                    nodes: Some(Selection::List((0..count).collect())),
                    ..fault.clone()
                };
                // Place the fault on one node, and on the smallest majority.
                let mut counts = vec![1, self.nodes / 2 + 1];
                counts.dedup();
                counts.into_iter().map(first).collect()
            }
        }
    }
}

/// Describes the fault in the notation of scenario files, without its injection point.
fn describe_fault(fault: &FaultPlan) -> String {
    let mut words = fault.kind.as_str().to_owned();
    if let Some(error) = fault.error {
        words.push_str(&format!(" {}", error.as_str()));
    }
    if let Some(by) = fault.by {
        words.push_str(&format!(" by {by}"));
    }
    if fault.nodes.is_some() {
        words.push_str(" of all links");
    }
    match (fault.frames, fault.duration) {
        (Some(_), _) => words.push_str(" of one message"),
        (None, Some(lasts)) => words.push_str(&format!(" for {lasts}")),
        (None, None) if fault.lasts() == picklock_scenarios::Lasts::Forever => {
            words.push_str(" for good");
        }
        (None, None) => {}
    }
    words
}
