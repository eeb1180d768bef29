//! What a fault does and when, as a sentence for people.

use super::describe::numbers;
use super::plan::FaultPlan;
use super::selection::{Nodes, Who, Workers};
use super::strikes::Strikes;
use super::trigger::{Direction, Phase, Trigger, TriggerEvent};
use crate::lease_duration::LeaseDuration;

impl FaultPlan {
    /// `freezes the client for 1.5 leases when it first reads a stock of 1`.
    pub fn in_words(&self) -> String {
        let struck = match self.kind.strikes() {
            Strikes::Workers => self.clients(Who::Same),
            Strikes::Nodes => self.servers(Who::Same),
            Strikes::Links => self.messages(),
        };
        let mut text = self.kind.0.does.replace("{}", &struck);
        if let Some(of) = (self.kind.0.of)(self) {
            text.push_str(&format!(" ({of})"));
        }
        match (self.kind.strikes(), self.by) {
            (_, None) => {}
            (Strikes::Links, Some(by)) => text.push_str(&format!(" by {}", by.span.in_words())),
            (_, Some(by)) => {
                let way = if by.back { "back" } else { "forward" };
                text.push_str(&format!(" {way} by {}", by.span.in_words()));
            }
        }
        if let Some(jitter) = self.jitter {
            text.push_str(&format!(" and up to {} more", jitter.in_words()));
        }
        if let Some(lasts) = self.duration {
            text.push_str(&format!(" for {}", lasts.in_words()));
        }
        match (&self.when, self.at) {
            (Some(when), _) => text.push_str(&self.moment(when)),
            (None, Some(at)) if at != LeaseDuration::ZERO => {
                text.push_str(&format!(" after {}", at.in_words()));
            }
            (None, _) => text.push_str(", from the start"),
        }
        text
    }

    fn clients(&self, default: Who) -> String {
        match self.workers.as_ref().unwrap_or(&Workers::Word(default)) {
            Workers::List(list) => format!("client{}", numbers(list)),
            Workers::Word(who) => group(*who, "client"),
        }
    }

    fn servers(&self, default: Who) -> String {
        match self.nodes.as_ref().unwrap_or(&Nodes::Word(default)) {
            Nodes::List(list) => format!("node{}", numbers(list)),
            Nodes::Word(who) => group(*who, "node"),
        }
    }

    /// What goes over the links that it strikes.
    fn messages(&self) -> String {
        let (clients, servers) = (self.clients(Who::All), self.servers(Who::All));
        let count = match self.frames {
            None => String::new(),
            Some(1) => "one of the ".to_owned(),
            Some(count) => format!("{count} of the "),
        };
        match self.direction {
            Some(Direction::Request) => format!("{count}commands from {clients} to {servers}"),
            Some(Direction::Reply) => format!("{count}replies from {servers} to {clients}"),
            None => format!("{count}messages between {clients} and {servers}"),
        }
    }

    fn moment(&self, when: &Trigger) -> String {
        let strikes_it = self.kind.strikes() == Strikes::Workers
            && matches!(self.workers, None | Some(Workers::Word(Who::Same)));
        let client = match when.worker {
            Some(worker) => format!("client {worker}"),
            None if strikes_it => "it".to_owned(),
            None => "a client".to_owned(),
        };
        let stock = when.stock.map(|stock| format!(" stock of {stock}"));
        let stock = stock.map_or("the stock".to_owned(), |stock| format!("a{stock}"));
        let does = match when.on {
            TriggerEvent::Acquire => "asks for the lock".to_owned(),
            TriggerEvent::Granted => "gets the lock".to_owned(),
            TriggerEvent::Extend => "asks to extend its lease".to_owned(),
            TriggerEvent::Extended => "has its lease extended".to_owned(),
            TriggerEvent::StockRead => format!("reads {stock}"),
            TriggerEvent::StockChanged => format!("changes the stock, leaving {stock}"),
            TriggerEvent::Release => "releases the lock".to_owned(),
            TriggerEvent::Request | TriggerEvent::Reply => return message(when, &client),
        };
        match when.nth {
            1 => format!(" when {client} first {does}"),
            nth => format!(" when {client} {does}, time {nth}"),
        }
    }
}

/// The moment of a command or reply at the wire.
fn message(when: &Trigger, client: &str) -> String {
    let command = match (&when.command, when.takes, when.names_key) {
        (Some(command), ..) => command.clone(),
        (None, true, _) => "command that takes the lock".to_owned(),
        (None, false, true) => "command with the lock's key".to_owned(),
        (None, false, false) => "command".to_owned(),
    };
    let during = match when.during {
        None => "",
        Some(Phase::Idle) => " between its attempts",
        Some(Phase::Acquire) => " during its acquisition",
        Some(Phase::Extend) => " during its extension",
        Some(Phase::Release) => " during its release",
    };
    let node = when
        .node
        .map_or(String::new(), |node| format!(" on node {node}"));
    let nth = match when.nth {
        1 => "first".to_owned(),
        nth => format!("{nth}th"),
    };
    let client = if client == "it" { "the client" } else { client };
    match when.on {
        TriggerEvent::Reply => {
            let what = if when.success {
                "success of"
            } else {
                "reply to"
            };
            format!(" when the {what} the {nth} {command} of {client}{during}{node} arrives")
        }
        _ => format!(" when the {nth} {command} of {client}{during}{node} is sent"),
    }
}

fn group(who: Who, one: &str) -> String {
    match who {
        Who::Same => format!("the {one}"),
        Who::Others => format!("the other {one}s"),
        Who::All => format!("every {one}"),
    }
}
