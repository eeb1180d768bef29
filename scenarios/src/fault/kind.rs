//! What a kind of fault is, and the table of kinds.

use std::fmt;

use serde::de::{self, EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::action::{Action, Capability};
use super::plan::{FaultPlan, Field};
use super::strikes::Strikes;
use crate::cause::Cause;
use crate::lease_duration::LeaseDuration;
use crate::problem::Problem;
use crate::topology::Topology;
use crate::workload::Workload;

/// The table of kinds, in the order in which errors list them. A new kind is a file beside this one
/// and a line here.
///
/// `kinds!(rows)` calls the macro `rows` with the whole table; the module above declares its files
/// from it.
macro_rules! kinds {
    ($rows:ident) => {
        $rows! {
            pause_client,
            crash_client,
            delay,
            drop,
            hold,
            cut,
            partition,
            pause_node,
            crash_node,
            cut_replication,
            failover,
            sentinel_failover,
            evict,
            flush_all,
            flush_scripts,
            exhaust,
            clock_jump,
            clock_skew,
        }
    };
}
pub(super) use kinds;

macro_rules! list_of_kinds {
    ($($file:ident,)*) => {
        const KINDS: &[&Kind] = &[$(&super::$file::KIND),*];
    };
}
kinds!(list_of_kinds);

/// One kind of fault.
pub(crate) struct Kind {
    /// The word that scenario files use.
    pub(super) word: &'static str,
    /// What it does, in words, with `{}` for what it strikes and `{of}` for what it is a fault of:
    /// `freezes {}`, `exhausts the {of} of {}`.
    pub(super) does: &'static str,
    /// What it strikes.
    pub(super) strikes: Strikes,
    /// The fields that it must have.
    pub(super) required: &'static [Field],
    /// The fields that it may have.
    pub(super) optional: &'static [Field],
    /// True when it needs nodes that have replicas.
    pub(super) replicated: bool,
    /// Checks what its fields say, beside the servers and the workload of the scenario. It is called
    /// when those that it must have are there.
    pub(super) check: fn(&FaultPlan, &Topology, &Workload) -> Result<(), Problem>,
    /// What is done to everything that it strikes, in this order. `None`: a required field is
    /// missing.
    pub(super) actions: fn(&FaultPlan) -> Option<Vec<Action>>,
    /// When it ends.
    pub(super) lasts: fn(&FaultPlan) -> Lasts,
    /// The cause of a violation that it suggests where nobody saw what became of a lock: it makes nodes
    /// forget, or expire, what they were told, or a client misjudge the time. `None`: it takes no lock
    /// away.
    pub(super) loses: Option<Cause>,
    /// True when it strikes once, and what follows is up to the lock. All others go on, and excuse a
    /// lock that stands still, until they are over.
    pub(super) strikes_once: bool,
    /// What it is a fault of, in words, if that is not clear from what it strikes: `memory`.
    pub(super) of: fn(&FaultPlan) -> Option<String>,
}

impl Kind {
    /// A kind that strikes workers, nodes or links, has no fields besides these, and ends after
    /// `for`.
    pub(super) const fn new(
        word: &'static str,
        strikes: Strikes,
        actions: fn(&FaultPlan) -> Option<Vec<Action>>,
    ) -> Kind {
        Kind {
            word,
            does: "strikes {}",
            strikes,
            required: &[],
            optional: match strikes {
                Strikes::Workers => &[Field::Workers],
                Strikes::Nodes => &[Field::Nodes],
                Strikes::Links => &[Field::Workers, Field::Nodes],
            },
            replicated: false,
            check: |_, _, _| Ok(()),
            actions,
            lasts: FaultPlan::as_given,
            loses: None,
            strikes_once: false,
            of: |_| None,
        }
    }
}

/// When a fault ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lasts {
    /// As soon as it has struck: there is nothing to undo.
    AtOnce,
    /// After this time.
    For(LeaseDuration),
    /// When it has struck so many frames.
    Frames(u32),
    /// Never: not even when the run ends.
    Forever,
}

impl FaultPlan {
    /// What is done to everything that the fault strikes, in this order. `None`: a required field
    /// is missing; a checked scenario has no such fault.
    pub fn actions(&self) -> Option<Vec<Action>> {
        (self.kind.0.actions)(self)
    }

    /// When it ends.
    pub fn lasts(&self) -> Lasts {
        (self.kind.0.lasts)(self)
    }

    /// What the backend must be able to do.
    pub fn needs(&self) -> Vec<Capability> {
        let actions = self.actions().unwrap_or_default();
        let needs = actions.iter().map(|one| one.needs(self.kind.strikes()));
        needs.collect()
    }

    /// It ends after `for`, or when it has struck `frames`; if neither is given, never.
    pub(super) fn as_given(&self) -> Lasts {
        match (self.duration, self.frames) {
            (Some(span), _) => Lasts::For(span),
            (None, Some(frames)) => Lasts::Frames(frames),
            (None, None) => Lasts::Forever,
        }
    }
}

/// A kind of fault, by reference to its row in the table.
#[derive(Clone, Copy)]
pub struct FaultKind(pub(super) &'static Kind);

/// The words of all kinds.
const WORDS: &[&str] = &{
    let mut words = [""; KINDS.len()];
    let mut index = 0;
    while index < words.len() {
        words[index] = KINDS[index].word;
        index += 1;
    }
    words
};

impl FaultKind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = FaultKind> {
        KINDS.iter().copied().map(FaultKind)
    }

    /// The kind that scenario files call by this word.
    pub fn named(word: &str) -> Option<FaultKind> {
        FaultKind::all().find(|kind| kind.word() == word)
    }

    /// The word that scenario files use.
    pub fn word(self) -> &'static str {
        self.0.word
    }

    /// What it strikes.
    pub fn strikes(self) -> Strikes {
        self.0.strikes
    }

    /// The cause that it suggests where nobody saw what became of a lock. `None`: it takes none away.
    pub fn loses(self) -> Option<Cause> {
        self.0.loses
    }

    /// True when it strikes once, and what follows is up to the lock.
    pub fn strikes_once(self) -> bool {
        self.0.strikes_once
    }

    /// True when it needs nodes that have replicas.
    pub(crate) fn is_replicated(self) -> bool {
        self.0.replicated
    }

    /// True when it must have the field.
    pub(crate) fn requires(self, field: Field) -> bool {
        self.0.required.contains(&field)
    }

    /// True when it may have the field.
    pub(crate) fn takes(self, field: Field) -> bool {
        self.requires(field) || self.0.optional.contains(&field)
    }
}

impl PartialEq for FaultKind {
    fn eq(&self, other: &FaultKind) -> bool {
        self.word() == other.word()
    }
}

impl Eq for FaultKind {}

impl fmt::Debug for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for FaultKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for FaultKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As an enum, so that a wrong word or type is reported like those of other choices.
        deserializer.deserialize_enum("FaultKind", WORDS, KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = FaultKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("enum FaultKind")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<FaultKind, A::Error> {
        let (word, rest) = data.variant::<Word>()?;
        rest.unit_variant()?;
        Ok(word.0)
    }
}

/// The word itself, so that an error points at it.
struct Word(FaultKind);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(WordVisitor)
    }
}

struct WordVisitor;

impl Visitor<'_> for WordVisitor {
    type Value = Word;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("variant identifier")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Word, E> {
        let kind = FaultKind::named(word);
        kind.map(Word)
            .ok_or_else(|| E::unknown_variant(word, WORDS))
    }
}
