//! Tests after the run whether a semaphore has exactly as many permits as it should have.

use std::time::Duration;

use picklock_scenarios::Phase;

use super::probe::{Prober, failed};
use super::worker_client::WorkerFailure;
use crate::adapter::message::Answer;
use crate::backend::Backend;
use crate::clock::millis;
use crate::history::EventKind;

impl<B: Backend> Prober<'_, B> {
    /// Repeatedly tries to get one permit more than there are at the same time, until it gets at least all of them or
    /// the time is over. Each try gives its permits back.
    pub(super) async fn take_permits(&mut self, key: u32) {
        let context = self.context;
        let spec = &context.spec;
        let capacity = spec.scenario.workload.capacity;
        // Outstanding leases must expire first.
        let bound = spec.ttl() + spec.scenario.judge.progress_within.resolve(spec.ttl());
        let begun = context.clock.elapsed();
        let mut permits = 0;
        loop {
            match self.take_simultaneously(key, capacity + 1).await {
                Ok(taken) => permits = permits.max(taken),
                Err(WorkerFailure::Gone(reason)) => {
                    return failed(context, format!("the client is gone: {reason}"));
                }
                // The failure is already recorded.
                Err(WorkerFailure::BrokeProtocol(_) | WorkerFailure::Hung { .. }) => return,
            }
            let waited = context.clock.elapsed().saturating_sub(begun);
            if permits >= capacity || waited >= bound {
                break;
            }
            tokio::time::sleep((spec.ttl() / 10).min(bound - waited)).await;
        }
        context.backend.set_phase(self.number, 0, Phase::Idle);
        let waited = context.clock.elapsed().saturating_sub(begun);
        context.recorder.write(EventKind::Probe {
            key,
            granted: permits >= capacity,
            waited_ms: millis(waited),
            permits: Some(permits),
        });
    }

    /// Makes up to `max` attempts, and returns how many permits it had at the same time: those that it got within half
    /// a lease after its first request. Gives all permits back.
    async fn take_simultaneously(&mut self, key: u32, max: u32) -> Result<u32, WorkerFailure> {
        let clock = &self.context.clock;
        let ttl_ms = self.context.spec.ttl_ms();
        let until = clock.elapsed() + self.context.spec.ttl() / 2;
        let (mut tokens, mut taken) = (Vec::new(), 0);
        while taken < max {
            let Answer::Granted { token, .. } = self.acquire(key, ttl_ms, Duration::ZERO).await?
            else {
                break;
            };
            tokens.push(token);
            if clock.elapsed() >= until {
                break;
            }
            taken += 1;
        }
        for token in tokens {
            self.release(key, token).await;
        }
        Ok(taken)
    }
}
