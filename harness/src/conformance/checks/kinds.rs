//! The kinds of locks that the adapter offers besides a lock with one holder.

use picklock_scenarios::LockFeature;

use super::acquire::must_be_refused;
use super::{CheckEnd, Clients, Who, not_offered, passed};

pub(super) async fn readers_are_in_together(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::SharedMode) {
        return not_offered("no `rwlock` in `kinds`");
    }
    let first = clients.take_shared(Who::One).await?;
    first.granted()?;
    let second = clients.take_shared(Who::Two).await?;
    if second.token().is_none() {
        clients.release(Who::One, &first).await?;
        return second.fail(format!(
            "it answered a second reader with `{}`, although only a reader is in",
            second.answer.reply()
        ));
    }
    clients.release(Who::Two, &second).await?;
    let early_writer = clients.take(Who::Two).await?;
    clients.release(Who::One, &first).await?;
    must_be_refused(&early_writer)?;
    let writer = clients.take(Who::Two).await?;
    let reader = clients.take_shared(Who::One).await?;
    clients.release(Who::Two, &writer).await?;
    must_be_refused(&reader)?;
    passed()
}

pub(super) async fn permits_are_granted_together(clients: &mut Clients) -> CheckEnd {
    if !clients.offers(LockFeature::Permits) {
        return not_offered("no `semaphore` in `kinds`");
    }
    clients.restart_with(Some(2)).await;
    let end = two_of_two_permits(clients).await;
    clients.restart_with(None).await;
    end
}

async fn two_of_two_permits(clients: &mut Clients) -> CheckEnd {
    let first = clients.take(Who::One).await?;
    first.granted()?;
    let second = clients.take(Who::Two).await?;
    if second.token().is_none() {
        return second.fail(format!(
            "its `capacity` is 2, and it answered a second client with `{}`",
            second.answer.reply()
        ));
    }
    let third = clients.take(Who::One).await?;
    clients.release(Who::Two, &second).await?;
    clients.release(Who::One, &first).await?;
    must_be_refused(&third)?;
    passed()
}
