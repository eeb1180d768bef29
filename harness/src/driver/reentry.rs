//! A holder that takes its lock a second time, like a section that calls a function which acquires the lock itself.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::Phase;

use super::client_driver::{ClientDriver, Hold, RequestAborted};
use super::work::Work;
use crate::adapter::message::{Answer, RequestKind};
use crate::backend::Backend;
use crate::clock::millis;
use crate::history::EventKind;

impl<B: Backend> ClientDriver<B> {
    /// Works for the rest of the section. If the scenario requires reentry, the lock is held twice during the middle
    /// third.
    pub(super) async fn rest(
        &mut self,
        hold: &Hold,
        remaining: Duration,
    ) -> Result<Work, RequestAborted> {
        let spec = &self.context.spec;
        let lease = spec.scenario.workload.reenter;
        let Some(lease) = lease.map(|lease| lease.resolve(spec.ttl())) else {
            return self.work_for(hold.op, remaining).await;
        };
        let third = remaining / 3;
        if self.work_for(hold.op, third).await? == Work::Stopped {
            return Ok(Work::Stopped);
        }
        // The section ends early, as if an exception had ended it.
        let Some(inner) = self.reenter(hold, lease).await? else {
            return Ok(Work::Stopped);
        };
        let work = self.work_for(hold.op, third).await?;
        self.release_inner(hold, inner).await?;
        match work {
            Work::Whole => {
                self.work_for(hold.op, remaining.saturating_sub(third * 2))
                    .await
            }
            Work::Stopped => Ok(Work::Stopped),
        }
    }

    /// Takes the lock again, and returns the token. The effect on the keys counts as an extension,
    /// because it may prolong the lease.
    async fn reenter(
        &mut self,
        hold: &Hold,
        lease: Duration,
    ) -> Result<Option<String>, RequestAborted> {
        let context = Rc::clone(&self.context);
        let (worker, op, ttl_ms) = (self.worker, hold.op, millis(lease));
        let request = RequestKind::Acquire {
            mode: None,
            permits: None,
            key: context.key(hold.key),
            ttl_ms,
            wait_ms: 0,
        };
        self.write(EventKind::Reenter { worker, op, ttl_ms })?;
        let inner = match self
            .request(Phase::Extend, op, request, Duration::ZERO)
            .await?
        {
            Answer::Granted { token, .. } => Some(token),
            Answer::Refused | Answer::Error { .. } => None,
            other => return Err(self.client.wrong_answer(&context, "acquire", &other).into()),
        };
        let granted = inner.is_some();
        context.applicability.record_reentered(granted);
        self.write(EventKind::Reentered {
            worker,
            op,
            granted,
        })?;
        Ok(inner)
    }

    /// Releases the inner hold. The lock's answer is not judged, only its effect on the keys.
    async fn release_inner(&mut self, hold: &Hold, token: String) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        let key = context.key(hold.key);
        let request = RequestKind::Release { key, token };
        let answer = self.request(Phase::Extend, hold.op, request, Duration::ZERO);
        match answer.await? {
            Answer::Released { .. } | Answer::Error { .. } => {}
            other => return Err(self.client.wrong_answer(&context, "release", &other).into()),
        }
        let (worker, op) = (self.worker, hold.op);
        self.write(EventKind::InnerReleased { worker, op })
    }
}
