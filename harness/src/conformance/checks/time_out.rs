//! `time-out`: a server that does not answer causes an error in time, with a correct `definite`.

use super::{Answer, CheckEnd, Clients, Exchange, LONG, LockName, Who, passed, passed_with};

pub(super) async fn frozen_server_is_an_error_in_time(clients: &mut Clients) -> CheckEnd {
    // Make the adapter open a connection.
    let grant = clients.take(Who::One).await?;
    clients.release(Who::One, &grant).await?;
    let before = clients.keys().await?;
    clients.freeze_server().await?;
    let frozen = clients.acquire(Who::One, LockName::Second, LONG, 0).await?;
    clients.thaw_server().await?;
    clients.wait(0.1).await;
    let after = clients.keys().await?;
    clients.remove_keys_since(&before).await?;
    judge(&frozen, !after.written_since(&before).is_empty())
}

/// Judges the reply. `wrote` states whether the server executed the command after it was resumed.
fn judge(frozen: &Exchange, wrote: bool) -> CheckEnd {
    match &frozen.answer {
        Answer::Granted { .. } => frozen.fail("it granted the lock while the server was frozen"),
        Answer::Error { definite: true, .. } if wrote => frozen.fail(
            "it answered `definite` = true, which means that nothing has happened, but the key was there when the server continued",
        ),
        Answer::Error { definite: true, .. } => {
            passed_with("it answers `definite` = true; only an error reply of Redis is definite")
        }
        Answer::Refused => {
            passed_with("it answers `refused`; `error` with `definite` = false is more precise")
        }
        _ => passed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::outcome::describe;

    /// `definite` is only wrong if the command was executed after all.
    #[test]
    fn definite_error_is_wrong_only_if_the_key_was_written() {
        for (definite, wrote, expected) in [
            (false, true, "passed"),
            (true, false, "passed"),
            (true, true, "the key was there"),
        ] {
            let message = "timed out".into();
            let error = Exchange::answered(Answer::Error { message, definite });
            let message = describe(judge(&error, wrote));
            assert!(message.contains(expected), "{message}");
        }
    }
}
