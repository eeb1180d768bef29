//! The work inside the critical section, and the extensions during it.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::OptionFuture;
use picklock_scenarios::{Phase, TriggerEvent};

use super::client_driver::{ClientDriver, Hold, RequestAborted};
use crate::adapter::message::{Answer, RequestKind};
use crate::backend::Backend;
use crate::context::RunContext;
use crate::history::EventKind;

/// Whether a holder continues its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// The work is complete, or may continue.
    Whole,
    /// The holder stopped, because it may have lost the lock.
    Stopped,
}

impl<B: Backend> ClientDriver<B> {
    /// Works for the length of a section. The work is a wait, as for a payment service. A holder that extends does so
    /// after each `extend` interval of work; the time for the extension does not count as work.
    pub(super) async fn work(&mut self, hold: &mut Hold) -> Result<Work, RequestAborted> {
        let section = self.context.spec.section_of(self.worker);
        self.work_through(hold, section).await
    }

    /// Like [`Self::work`], for a part of the section.
    pub(super) async fn work_through(
        &mut self,
        hold: &mut Hold,
        mut left: Duration,
    ) -> Result<Work, RequestAborted> {
        let workload = &self.context.spec.scenario.workload;
        let ttl = self.context.spec.ttl();
        let extend = workload.extend.map(|extend| extend.resolve(ttl));
        // The scenario's check rejects an interval of zero, which would never end.
        if let Some(extend) = extend.filter(|extend| !extend.is_zero()) {
            while left > extend {
                if self.work_for(hold.op, extend).await? == Work::Stopped {
                    return Ok(Work::Stopped);
                }
                left -= extend;
                if self.extend(hold).await? == Work::Stopped {
                    return Ok(Work::Stopped);
                }
            }
        }
        self.rest(hold, left).await
    }

    /// Works for `span`. If the lock reports its loss, or the worker exits on its own, the section ends immediately. If
    /// the nemesis has killed the worker, this is already in the history, and the worker may restart after its section.
    pub(super) async fn work_for(
        &mut self,
        op: u64,
        span: Duration,
    ) -> Result<Work, RequestAborted> {
        let mut working = pin!(tokio::time::sleep(span));
        let loss = self.client.loss(op);
        let other = self.also_held.map(|other| self.client.loss(other));
        let other_loss = OptionFuture::from(other);
        let failure = tokio::select! {
            biased;
            () = &mut working => return Ok(Work::Whole),
            () = loss => return Ok(Work::Stopped),
            Some(()) = other_loss => return Ok(Work::Stopped),
            failure = self.client.failure(&self.context) => failure,
        };
        if self.check_alive().is_err() {
            working.await;
        }
        Err(failure.into())
    }

    /// Requests an extension. A holder stops if it is refused, because it has lost the lock. The holder also stops if
    /// the extension fails, like a program that is ended by an exception. If the lock reports that it cannot extend, it
    /// has neither lost its lease nor failed, so the run ends.
    pub(super) async fn extend(&mut self, hold: &mut Hold) -> Result<Work, RequestAborted> {
        let context = Rc::clone(&self.context);
        let (worker, op) = (self.worker, hold.op);
        let ttl_ms = context.spec.ttl_ms();
        let request = RequestKind::Extend {
            key: context.key(hold.key),
            token: hold.token.clone(),
            ttl_ms,
        };
        self.write(EventKind::Extend { worker, op, ttl_ms })?;
        context.applicability.record_extension_request();
        self.event(TriggerEvent::Extend, None).await;
        let answer = self
            .request(Phase::Extend, op, request, Duration::ZERO)
            .await?;
        let failed = |message, definite| EventKind::ExtendFailed {
            worker,
            op,
            message,
            definite,
        };
        match answer {
            Answer::Granted {
                token,
                valid_ms,
                elapsed_ms,
                ..
            } => {
                context.applicability.record_extended();
                context.triggers.record_extended();
                hold.token.clone_from(&token);
                self.write(EventKind::ExtendGranted {
                    worker,
                    op,
                    token,
                    valid_ms,
                    elapsed_ms,
                })?;
                self.event(TriggerEvent::Extended, None).await;
                return Ok(Work::Whole);
            }
            Answer::Unsupported { message } => {
                let message = message.unwrap_or_else(|| "no reason given".into());
                self.write(failed(format!("not supported: {message}"), true))?;
                // The lock's background renewals are also extensions, and the key history shows them.
                if context.spec.lock.renews {
                    context.applicability.record_extended();
                    return Ok(Work::Whole);
                }
                if context.applicability.cannot_extend(&message) {
                    return Ok(Work::Whole);
                }
            }
            Answer::Refused => self.write(EventKind::ExtendRefused { worker, op })?,
            Answer::Error { message, definite } => self.write(failed(message, definite))?,
            other => return Err(self.client.wrong_answer(&context, "extend", &other).into()),
        }
        Ok(Work::Stopped)
    }
}

/// Records that no holder extended its lease, if the scenario requires extensions.
pub(super) fn record_untested_extensions<B>(context: &RunContext<B>) {
    if context.spec.scenario.workload.extend.is_none() {
        return;
    }
    if let Some(untested) = context.applicability.extension_untested() {
        context.recorder.write(untested);
    }
}

/// Returns `true` if the scenario requires extensions and the lock has reported that it cannot extend. Then nothing is
/// left to test.
pub(super) fn extension_unsupported<B>(context: &RunContext<B>) -> bool {
    let untested = context.applicability.extension_untested();
    let Some(EventKind::ExtensionUntested { unsupported }) = untested else {
        return false;
    };
    context.spec.scenario.workload.extend.is_some() && unsupported.is_some()
}
