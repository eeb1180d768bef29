//! After the buyers are done: can anybody still take the lock?
//!
//! A lock may leave something behind that shuts everybody out for ever (a key without expiry), and
//! when the stock is sold out no buyer is left to find it. So one more client, of its own, tries.

use std::rc::Rc;

use picklock_scenarios::{FaultKind, Phase};
use tokio::time::timeout;

use super::conversation::Conversation;
use crate::adapter::message::{Answer, Ask, PROTOCOL};
use crate::entropy;
use crate::history::What;
use crate::stage::{Stage, millis};
use crate::world::World;

/// Lets a client of its own take each lock once, and looks at what is left in Redis.
pub async fn probe<W: World>(stage: &Rc<Stage<W>>) {
    let prober = stage.plan.scenario.workload.workers;
    match start(stage, prober).await {
        Ok(mut talk) => {
            for key in (0..).take(stage.plan.keys.len()) {
                take_once(stage, prober, &mut talk, key).await;
            }
        }
        Err(reason) => failed(stage, reason),
    }
    stage.world.kill_worker(prober).await.ok();
    look_for_leftovers(stage).await;
    look_for_lost_nodes(stage).await;
}

/// Without a probe nothing can be said about what was left behind.
fn failed<W>(stage: &Stage<W>, reason: String) {
    stage.recorder.write(What::FaultMissed {
        fault: "probe".into(),
        reason,
        optional: false,
    });
}

async fn start<W: World>(stage: &Rc<Stage<W>>, prober: usize) -> Result<Conversation, String> {
    let plan = &stage.plan;
    let started = stage.world.start_worker(prober, 0).await;
    let (session, nodes) = started.map_err(|refusal| refusal.to_string())?;
    let mut talk = Conversation::begin(stage, prober, session);
    let init = Ask::Init {
        protocol: PROTOCOL,
        worker: prober,
        nodes,
        timeout_ms: millis(plan.command_timeout()),
        seed: entropy::derive(plan.seed, "probe", 0),
        options: plan.options.clone(),
    };
    match talk.ask(stage, 0, init, super::buyer::GRACE).await {
        Ok(Answer::Ready { .. }) => Ok(talk),
        Ok(other) => Err(format!("its client answered `init` with {other:?}")),
        Err(silence) => Err(format!("its client did not get ready: {silence}")),
    }
}

async fn take_once<W: World>(
    stage: &Rc<Stage<W>>,
    prober: usize,
    talk: &mut Conversation,
    key: u32,
) {
    let plan = &stage.plan;
    // Leases that are still out have the right to run out first.
    let bound = plan.ttl + plan.scenario.judge.progress_within.resolve(plan.ttl);
    let begun = stage.clock.elapsed();
    let name = &plan.keys[key as usize];
    let mut granted = None;
    while granted.is_none() {
        let left = bound.saturating_sub(stage.clock.elapsed().saturating_sub(begun));
        if left.is_zero() {
            break;
        }
        let ask = Ask::Acquire {
            key: name.clone(),
            ttl_ms: plan.ttl_ms(),
            wait_ms: millis(left),
        };
        stage.world.set_phase(prober, 0, Phase::Acquire);
        let patience = left + plan.command_timeout() * 2 + super::buyer::GRACE;
        match talk.ask(stage, 0, ask, patience).await {
            Ok(Answer::Granted { token, .. }) => granted = Some(token),
            // A lock that refuses at once must not make the probe spin.
            Ok(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            Err(silence) => return failed(stage, format!("its client is gone: {silence}")),
        }
    }
    let waited = stage.clock.elapsed().saturating_sub(begun);
    stage.recorder.write(What::Probe {
        key,
        granted: granted.is_some(),
        waited_ms: millis(waited),
    });
    if let Some(token) = granted {
        let ask = Ask::Release {
            key: name.clone(),
            token,
        };
        let patience = plan.command_timeout() * 2 + super::buyer::GRACE;
        // What the release says does not matter: the probe has its answer.
        talk.ask(stage, 0, ask, patience).await.ok();
    }
}

async fn look_for_leftovers<W: World>(stage: &Rc<Stage<W>>) {
    for node in 0..stage.plan.nodes {
        for (key, name) in (0..).zip(&stage.plan.keys) {
            let look = stage.world.key_ttl_ms(node, name);
            let ttl_ms = timeout(super::buyer::GRACE, look).await.ok().flatten();
            if let Some(ttl_ms) = ttl_ms {
                stage.recorder.write(What::KeyLeft { node, key, ttl_ms });
            }
        }
    }
}

/// Every fault of the plan is over by now, so each node must answer, unless the plan itself leaves
/// some of them dead.
async fn look_for_lost_nodes<W: World>(stage: &Rc<Stage<W>>) {
    let mut faults = stage.plan.scenario.faults.iter();
    if faults.any(|fault| fault.kind == FaultKind::CrashNode && fault.duration.is_none()) {
        return;
    }
    for node in 0..stage.plan.nodes {
        let look = stage.world.why_lost(node);
        let answered = timeout(super::buyer::GRACE, look).await;
        if let Some(reason) = answered.unwrap_or_else(|_| Some("it does not answer".into())) {
            stage.recorder.write(What::NodeLost { node, reason });
        }
    }
}
