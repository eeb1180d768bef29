//! The term of a leader.

use std::rc::Rc;
use std::time::Duration;

use super::client_driver::{ClientDriver, Hold, RequestAborted};
use super::work::Work;
use crate::adapter::message::{Answer, RequestKind};
use crate::backend::Backend;
use crate::history::EventKind;

/// The lock's answer to a leader that requests to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Permission {
    /// The client still leads, and may act.
    Given,
    /// The client no longer leads.
    Lost,
    /// The lock could not decide, so the leader must not act now.
    Unknown,
}

impl<B: Backend> ClientDriver<B> {
    /// Acts again and again until the term is over, and resigns. A client that learns that it no longer leads resigns
    /// at once.
    pub(super) async fn leader_section(&mut self, mut hold: Hold) -> Result<(), RequestAborted> {
        let workload = &self.context.spec.scenario.workload;
        let ttl = self.context.spec.ttl();
        let every = workload.act_every.map_or(ttl, |every| every.resolve(ttl));
        // The scenario's check rejects an interval of zero, which would never end.
        let every = every.max(Duration::from_millis(1));
        let extend = workload.extend.map(|extend| extend.resolve(ttl));
        let mut left = self.context.spec.section_of(self.worker);
        let mut since_extension = Duration::ZERO;
        while !left.is_zero() && self.act(&mut hold, every).await? == Work::Whole {
            left = left.saturating_sub(every);
            since_extension += every;
            let is_due = extend.is_some_and(|extend| since_extension >= extend);
            if is_due && !left.is_zero() {
                since_extension = Duration::ZERO;
                if self.extend(&mut hold).await? == Work::Stopped {
                    break;
                }
            }
        }
        self.release(hold).await
    }

    /// Acts once, in an interval of this length: reads the stock at its beginning, and overwrites it in its middle.
    async fn act(&mut self, hold: &mut Hold, every: Duration) -> Result<Work, RequestAborted> {
        self.ping(hold).await?;
        match self.may_act(hold).await? {
            Permission::Given => {}
            Permission::Lost => return Ok(Work::Stopped),
            Permission::Unknown => return self.rest(hold, every).await,
        }
        // A refused access does not mean that the lock is lost, so the client continues, and requests permission for
        // the next act.
        let Some(stock) = self.read_stock(hold).await? else {
            return self.rest(hold, every).await;
        };
        if stock <= 0 {
            self.unsold_keys.retain(|key| *key != hold.key);
            return Ok(Work::Stopped);
        }
        let work = self.rest(hold, every / 2).await?;
        self.ping(hold).await?;
        let may_write = work == Work::Whole && !self.client.has_lost(hold.op);
        self.write_stock(hold, stock, may_write).await?;
        if !may_write {
            return Ok(Work::Stopped);
        }
        self.rest(hold, every / 2).await
    }

    /// Requests permission from the lock to act now. A lock without such requests lets its holder act until it reports
    /// the loss, and its fencing token is the epoch.
    async fn may_act(&mut self, hold: &mut Hold) -> Result<Permission, RequestAborted> {
        let context = Rc::clone(&self.context);
        let (worker, op) = (self.worker, hold.op);
        if self.client.has_lost(op) {
            return Ok(Permission::Lost);
        }
        if !context.applicability.answers_act() {
            return Ok(Permission::Given);
        }
        self.write(EventKind::Act { worker, op })?;
        let request = RequestKind::Act {
            key: context.key(hold.key),
            token: hold.token.clone(),
        };
        let patience = self.patience;
        let answer = self.client.request(&context, op, request, patience, None);
        match answer.await? {
            Answer::Acting { epoch } => {
                hold.fence = epoch.or(hold.fence);
                let epoch = hold.fence;
                self.write(EventKind::MayAct { worker, op, epoch })?;
                Ok(Permission::Given)
            }
            Answer::Refused => {
                self.write(EventKind::Lost { worker, op })?;
                Ok(Permission::Lost)
            }
            Answer::Error { message, definite } => {
                self.write(EventKind::ActFailed {
                    worker,
                    op,
                    message,
                    definite,
                })?;
                Ok(Permission::Unknown)
            }
            other => Err(self.client.wrong_answer(&context, "act", &other).into()),
        }
    }
}
