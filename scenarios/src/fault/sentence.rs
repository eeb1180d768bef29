//! The effect and the trigger of a fault as a sentence for people.

use super::action::Affects;
use super::describe::numbers;
use super::kind::FaultKind;
use super::plan::FaultPlan;
use super::selection::{Selection, Who};
use super::trigger::{Direction, Phase, Trigger, TriggerEvent};
use crate::lease_duration::LeaseDuration;

impl FaultPlan {
    /// Returns a sentence such as `freezes the client for 1.5 leases when it first reads a stock of 1`.
    pub fn sentence(&self) -> String {
        let affected = match self.kind.affects() {
            Affects::Workers => self.clients(Who::Same),
            Affects::Nodes => self.servers(Who::Same),
            Affects::Links => self.messages(),
        };
        let does = self.kind.row().does;
        let detail = (self.kind.row().detail)(self);
        let mut text = does.replace("{of}", detail.as_deref().unwrap_or_default());
        text = text.replace("{}", &affected);
        if let Some(detail) = detail.filter(|_| !does.contains("{of}")) {
            text.push_str(&format!(" ({detail})"));
        }
        match (self.kind.affects(), self.by) {
            (_, None) => {}
            (Affects::Links, Some(by)) => text.push_str(&format!(" by {}", by.span.describe())),
            (_, Some(by)) => {
                let way = if by.back { "back" } else { "forward" };
                text.push_str(&format!(" {way} by {}", by.span.describe()));
            }
        }
        if let Some(jitter) = self.jitter {
            text.push_str(&format!(" and up to {} more", jitter.describe()));
        }
        if let Some(lasts) = self.duration.filter(|lasts| *lasts != LeaseDuration::ZERO) {
            text.push_str(&format!(" for {}", lasts.describe()));
        }
        match (&self.when, self.at) {
            (Some(when), _) => text.push_str(&self.trigger(when)),
            (None, Some(at)) if at != LeaseDuration::ZERO => {
                text.push_str(&format!(" after {}", at.describe()));
            }
            (None, _) => text.push_str(", from the start"),
        }
        text
    }

    fn clients(&self, default: Who) -> String {
        match self.workers.as_ref().unwrap_or(&Selection::Word(default)) {
            Selection::List(list) => format!("client{}", numbers(list)),
            Selection::Word(Who::Same) => match self.when.as_ref().and_then(|when| when.worker) {
                Some(worker) => format!("client {worker}"),
                None => "the client".to_owned(),
            },
            Selection::Word(who) => group(*who, "client"),
        }
    }

    fn servers(&self, default: Who) -> String {
        match self.nodes.as_ref().unwrap_or(&Selection::Word(default)) {
            Selection::List(list) => format!("node{}", numbers(list)),
            Selection::Word(who) => group(*who, "node"),
        }
    }

    /// Describes the messages on the affected links.
    fn messages(&self) -> String {
        let (clients, servers) = (self.clients(Who::All), self.servers(Who::All));
        let count = match self.frames {
            None => String::new(),
            Some(1) => "one of the ".to_owned(),
            Some(count) => format!("{count} of the "),
        };
        let direction = match self.kind {
            FaultKind::Answer | FaultKind::FalseAnswer => Some(Direction::Request),
            _ => self.direction,
        };
        match direction {
            Some(Direction::Request) => format!("{count}commands from {clients} to {servers}"),
            Some(Direction::Reply) => format!("{count}replies from {servers} to {clients}"),
            None => format!("{count}messages between {clients} and {servers}"),
        }
    }

    /// Returns `true` if the sentence has already named the client of the trigger, as the target.
    fn names_client(&self) -> bool {
        matches!(
            (self.kind.affects(), &self.workers),
            (Affects::Workers, None) | (_, Some(Selection::Word(Who::Same)))
        )
    }

    fn trigger(&self, when: &Trigger) -> String {
        let client = match when.worker {
            Some(worker) => format!("client {worker}"),
            None => "a client".to_owned(),
        };
        let stock = when.stock.map_or("the stock".to_owned(), |stock| {
            format!("a stock of {stock}")
        });
        let does = match when.on {
            TriggerEvent::Acquire => "asks for the lock".to_owned(),
            TriggerEvent::Granted => "gets the lock".to_owned(),
            TriggerEvent::Extend => "asks to extend its lease".to_owned(),
            TriggerEvent::Extended => "has its lease extended".to_owned(),
            TriggerEvent::StockRead => format!("reads {stock}"),
            TriggerEvent::StockChanged => format!("changes the stock, leaving {stock}"),
            TriggerEvent::JobBegan => "begins its job".to_owned(),
            TriggerEvent::Release => "releases the lock".to_owned(),
            TriggerEvent::Request | TriggerEvent::Reply => {
                let whose = if self.names_client() {
                    "its".to_owned()
                } else {
                    format!("{client}'s")
                };
                return message(when, &whose);
            }
        };
        match (when.nth, self.names_client()) {
            (1, true) => format!(" when it first {does}"),
            (1, false) => format!(" when {client} first {does}"),
            (nth, _) => format!(" the {} time that {client} {does}", ordinal(nth)),
        }
    }
}

/// Describes a trigger on a command or reply at the proxy.
fn message(when: &Trigger, whose: &str) -> String {
    let mut command = format!("{whose} {} ", ordinal(when.nth));
    command.push_str(match &when.command {
        Some(command) => command,
        None if when.takes => "command that takes the lock",
        None if when.releases => "command that releases the lock",
        None if when.names_key => "command with the lock's key",
        None => "command",
    });
    command.push_str(match when.during {
        None => "",
        Some(Phase::Idle) => " between attempts",
        Some(Phase::Acquire) => " during an acquisition",
        Some(Phase::Extend) => " during an extension",
        Some(Phase::Release) => " during a release",
    });
    if let Some(node) = when.node {
        command.push_str(&format!(" to node {node}"));
    }
    match (when.on, when.success) {
        (TriggerEvent::Reply, true) => format!(" when the successful reply to {command} arrives"),
        (TriggerEvent::Reply, false) => format!(" when the reply to {command} arrives"),
        _ => format!(" when {command} is sent"),
    }
}

fn ordinal(nth: u32) -> String {
    match nth {
        1 => "first".to_owned(),
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        nth => {
            let ending = match (nth % 10, nth % 100) {
                (_, 11..=13) => "th",
                (1, _) => "st",
                (2, _) => "nd",
                (3, _) => "rd",
                _ => "th",
            };
            format!("{nth}{ending}")
        }
    }
}

fn group(who: Who, one: &str) -> String {
    match who {
        Who::Same => format!("the {one}"),
        Who::Others => format!("the other {one}s"),
        Who::All => format!("every {one}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_end_as_in_english() {
        let ordinals = [1, 4, 11, 12, 13, 21, 22, 23, 24, 111, 121].map(ordinal);
        assert_eq!(
            ordinals.join(" "),
            "first 4th 11th 12th 13th 21st 22nd 23rd 24th 111th 121st"
        );
    }
}
