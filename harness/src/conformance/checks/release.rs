//! `release`: after it the lock is free.

use super::refusal::{lease_was_running, must_be_refused};
use super::{Answer, Clients, Outcome, Problem, Who, passed_with};

pub(super) async fn released_lock_is_free(clients: &mut Clients) -> Outcome {
    let grant = clients.take(Who::One).await?;
    let release = clients.release(Who::One, &grant).await?;
    let next = clients.take(Who::Two).await?;
    if next.token().is_some() {
        clients.release(Who::Two, &next).await?;
    }
    if clients.hears_of_loss(&grant).await? {
        let what = "it wrote the event `lost` for a lock whose lease was running";
        return Err(Problem::new(what).by("events").into());
    }
    let remark = match &release.answer {
        Answer::Released {
            released: Some(true),
        } => "",
        Answer::Released { released: None } => "`null`: it does not say whether it still held it",
        Answer::Released { .. } => {
            return release
                .wrong("it says that the lock was no longer held, and its lease was running");
        }
        _ => return Err(lease_was_running(&release)),
    };
    if must_be_refused(&next).is_ok() {
        return release.wrong("after it had answered `released`, the next client was refused");
    }
    next.granted()?;
    passed_with(remark)
}
