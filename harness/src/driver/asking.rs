//! What a buyer asks of its worker: the lock, a sign of life, and the lock's release.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::{EventKind, Phase};

use super::buyer::{Broken, Buyer, Errand, GRACE, Hold};
use crate::adapter::message::{Answer, Ask};
use crate::history::{Misbehaviour, What};
use crate::stage::{Happening, millis};
use crate::world::World;

impl<W: World> Buyer<W> {
    /// Asks for the lock. `None`: it was refused, or the attempt failed.
    pub(super) async fn acquire(&mut self, errand: Errand) -> Result<Option<Hold>, Broken> {
        let stage = Rc::clone(&self.stage);
        let (worker, plan) = (self.worker, &stage.plan);
        let Errand { key, intended_ns } = errand;
        let wait = plan.scenario.workload.wait.resolve(plan.ttl);
        let op = stage.next_op();
        let ask = Ask::Acquire {
            key: plan.keys[key as usize].clone(),
            ttl_ms: plan.ttl_ms(),
            wait_ms: millis(wait),
        };
        self.write(What::Acquire {
            worker,
            op,
            key,
            ttl_ms: plan.ttl_ms(),
            wait_ms: millis(wait),
            intended_ns,
        })?;
        self.moment(EventKind::Acquire, None).await;
        stage.world.set_phase(worker, op, Phase::Acquire);
        let answer = self.talk.ask(&stage, op, ask, self.patience(wait)).await?;
        stage.world.set_phase(worker, op, Phase::Idle);
        stage.door.open();
        match answer {
            Answer::Granted {
                token,
                fence,
                valid_ms,
                elapsed_ms,
            } => {
                self.write(What::Granted {
                    worker,
                    op,
                    token: token.clone(),
                    fence,
                    valid_ms,
                    elapsed_ms,
                })?;
                self.moment(EventKind::Granted, None).await;
                return Ok(Some(Hold {
                    op,
                    key,
                    token,
                    fence,
                }));
            }
            Answer::Refused => self.write(What::Refused { worker, op })?,
            Answer::Error { message, definite } => self.write(What::AcquireFailed {
                worker,
                op,
                message,
                definite,
            })?,
            other => {
                self.out_of_turn("acquire", &other);
                self.write(What::AcquireFailed {
                    worker,
                    op,
                    message: format!("answered `acquire` with {other:?}"),
                    definite: false,
                })?;
            }
        }
        Ok(None)
    }

    pub(super) async fn release(&mut self, hold: Hold) -> Result<(), Broken> {
        let stage = Rc::clone(&self.stage);
        let (worker, op) = (self.worker, hold.op);
        self.write(What::Release { worker, op })?;
        self.moment(EventKind::Release, None).await;
        stage.world.set_phase(worker, op, Phase::Release);
        let ask = Ask::Release {
            key: stage.plan.keys[hold.key as usize].clone(),
            token: hold.token,
        };
        let answer = self
            .talk
            .ask(&stage, op, ask, self.patience(Duration::ZERO))
            .await?;
        stage.world.set_phase(worker, op, Phase::Idle);
        match answer {
            Answer::Released { released } => self.write(What::Released {
                worker,
                op,
                released,
                last_command_ns: stage
                    .world
                    .last_command_ns(worker, op, Phase::Release, hold.key),
            }),
            Answer::Error { message, definite } => self.write(What::ReleaseFailed {
                worker,
                op,
                message,
                definite,
            }),
            other => {
                self.out_of_turn("release", &other);
                self.write(What::ReleaseFailed {
                    worker,
                    op,
                    message: format!("answered `release` with {other:?}"),
                    definite: false,
                })
            }
        }
    }

    pub(super) async fn ping(&mut self, hold: &Hold) -> Result<(), Broken> {
        let stage = Rc::clone(&self.stage);
        let answer = self
            .talk
            .ask(&stage, hold.op, Ask::Ping, self.patience(Duration::ZERO))
            .await?;
        if answer != Answer::Pong {
            self.out_of_turn("ping", &answer);
        }
        Ok(())
    }

    fn patience(&self, wait: Duration) -> Duration {
        let plan = &self.stage.plan;
        wait + plan.command_timeout() * 2 + plan.longest_fault() + GRACE
    }

    pub(super) async fn moment(&self, kind: EventKind, stock: Option<i64>) {
        let happening = Happening {
            kind,
            worker: self.worker,
            stock,
        };
        if let Some(gate) = self.stage.moments.happened(happening) {
            gate.await;
        }
    }

    /// Writes an event of this worker, unless the nemesis has killed it meanwhile: whatever was
    /// still in the pipe came from a dead man.
    pub(super) fn write(&self, what: What) -> Result<(), Broken> {
        self.alive()?;
        self.stage.recorder.write(what);
        Ok(())
    }

    pub(super) fn alive(&self) -> Result<(), Broken> {
        if self.stage.roster.is_over(self.worker, self.incarnation) {
            return Err(Broken::Struck);
        }
        Ok(())
    }

    fn out_of_turn(&self, asked: &str, answer: &Answer) {
        self.stage.recorder.write(What::Misbehaved {
            worker: self.worker,
            kind: Misbehaviour::OutOfTurn,
            detail: format!("answered `{asked}` with {answer:?}"),
        });
    }
}
