//! The work inside the critical section, and the extensions that holders ask for meanwhile.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::{Phase, TriggerEvent};

use super::client_driver::{ClientDriver, Hold, RequestAborted};
use crate::adapter::message::{Answer, RequestKind};
use crate::backend::Backend;
use crate::context::RunContext;
use crate::history::EventKind;

/// Whether a holder goes on with its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// It has done, or may go on with, all of it.
    Whole,
    /// It stopped, because it may not have the lock any more.
    Stopped,
}

impl<B: Backend> ClientDriver<B> {
    /// Works for the length of a section. The work itself is a wait, as for a payment service. A
    /// holder that extends does so each time that it has worked for so long; what the extension
    /// takes is not work.
    pub(super) async fn work(&mut self, hold: &mut Hold) -> Result<Work, RequestAborted> {
        let workload = &self.context.spec.scenario.workload;
        let ttl = self.context.spec.ttl();
        let mut left = workload.section.resolve(ttl);
        let extend = workload.extend.map(|extend| extend.resolve(ttl));
        // The scenario's check refuses an extension at once; this would never end.
        if let Some(extend) = extend.filter(|extend| !extend.is_zero()) {
            while left > extend {
                if self.pass(hold.op, extend).await? == Work::Stopped {
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

    /// Works for so long. If the lock reports its loss, or the worker dies on its own meanwhile, the section ends
    /// there and then. One that the nemesis has killed is in the history, and may come back at the end of its section.
    pub(super) async fn pass(&mut self, op: u64, span: Duration) -> Result<Work, RequestAborted> {
        let mut working = pin!(tokio::time::sleep(span));
        let loss = self.talk.loss(op);
        let silence = tokio::select! {
            biased;
            () = &mut working => return Ok(Work::Whole),
            () = loss => return Ok(Work::Stopped),
            silence = self.talk.silence(&self.context) => silence,
        };
        if self.alive().is_err() {
            working.await;
        }
        Err(silence.into())
    }

    /// Asks for an extension. A holder stops when it is refused: it has lost the lock. It also stops
    /// when the extension fails, as a program does that an exception ends. A lock that cannot be
    /// extended has neither lost nor failed anything: the run ends there.
    async fn extend(&mut self, hold: &mut Hold) -> Result<Work, RequestAborted> {
        let context = Rc::clone(&self.context);
        let (worker, op) = (self.worker, hold.op);
        let ttl_ms = context.spec.ttl_ms();
        let ask = RequestKind::Extend {
            key: context.key(hold.key),
            token: hold.token.clone(),
            ttl_ms,
        };
        self.write(EventKind::Extend { worker, op, ttl_ms })?;
        context.applicability.record_asked_to_extend();
        self.event(TriggerEvent::Extend, None).await;
        let answer = self.ask(Phase::Extend, op, ask, Duration::ZERO).await?;
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
                let message = message.unwrap_or_else(|| "it does not say why".into());
                self.write(failed(format!("not supported: {message}"), true))?;
                // Its own renewals do what was asked for, and the key history shows them.
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
            other => return Err(self.talk.broken_by(&context, "extend", &other).into()),
        }
        Ok(Work::Stopped)
    }
}

/// Holders were to extend their leases, and none could: the run did not do what its scenario says.
pub(super) fn record_untested_extensions<B>(context: &RunContext<B>) {
    if context.spec.scenario.workload.extend.is_none() {
        return;
    }
    if let Some(untested) = context.applicability.extension_untested() {
        context.recorder.write(untested);
    }
}

/// True if the scenario wants extensions, and the lock has said that it has none: nothing is left to find out.
pub(super) fn cannot_be_extended<B>(context: &RunContext<B>) -> bool {
    let untested = context.applicability.extension_untested();
    let Some(EventKind::ExtensionUntested { unsupported }) = untested else {
        return false;
    };
    context.spec.scenario.workload.extend.is_some() && unsupported.is_some()
}
