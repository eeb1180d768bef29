//! `grant`: a lock that nobody holds is granted.

use super::{Answer, Clients, Outcome, Stop, Who, passed};

pub(super) async fn free_lock_is_granted(clients: &mut Clients) -> Outcome {
    let before = clients.keys().await?;
    let grant = clients.take(Who::One).await?;
    let after = clients.keys().await?;
    match clients.release(Who::One, &grant).await {
        Err(Stop::Problem(problem))
            if matches!(grant.answer, Answer::Error { .. })
                && before.connections == after.connections =>
        {
            let what = "nothing has connected to the server that `nodes` names";
            let problem = grant.shows(format!("{}; {what}", problem.what));
            Err(problem.by("servers").into())
        }
        released => released.and_then(|_| passed()),
    }
}
