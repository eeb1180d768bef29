//! Clients that died without a fault and without a signal from outside.

use crate::check::finding::{ClientDeath, Judgement, Observation};
use crate::history::{EndedBy, Event, EventKind};
use crate::timeline::{Attempt, Step};

#[derive(Debug, Default)]
pub(in crate::check) struct ClientDeaths {
    /// The state of each worker's client.
    clients: Vec<Client>,
    /// Each death with its time.
    found: Vec<(u64, ClientDeath)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Client {
    /// Whether the client's program has reported that it is ready since it was last started.
    is_up: bool,
    latest_op: Option<u64>,
}

impl ClientDeaths {
    pub(in crate::check) fn step(&mut self, attempt: &Attempt, step: Step) {
        if step == Step::Requested {
            let client = self.client(attempt.worker);
            client.is_up = true;
            client.latest_op = Some(attempt.op);
        }
    }

    pub(in crate::check) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::WorkerUp { worker, .. } => self.client(*worker).is_up = true,
            EventKind::WorkerDown {
                worker,
                by_fault,
                reason,
                ended_by,
            } => {
                let client = self.client(*worker);
                let was_up = std::mem::take(&mut client.is_up);
                let op = client.latest_op;
                if was_up && !by_fault && *ended_by == Some(EndedBy::Itself) {
                    let death = ClientDeath {
                        worker: *worker,
                        op,
                        reason: reason.clone(),
                    };
                    self.found.push((event.at_ns, death));
                }
            }
            _ => {}
        }
    }

    fn client(&mut self, worker: usize) -> &mut Client {
        if self.clients.len() <= worker {
            self.clients.resize(worker + 1, Client::default());
        }
        &mut self.clients[worker]
    }

    /// Adds the deaths to the judgement of the waits.
    pub(in crate::check) fn judge(self, waits: Judgement) -> Judgement {
        let deaths = self.found.into_iter();
        let deaths = deaths.map(|(at_ns, death)| (at_ns, Observation::ClientDeath(death)));
        // A wait that follows a death may be its effect.
        waits.with(deaths.collect())
    }
}
