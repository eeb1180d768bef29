//! `time-out`: a server that does not answer ends in an error in time, and in an honest one.

use super::{Answer, CheckEnd, Clients, Exchange, LONG, LockName, Who, passed, passed_with};

pub(super) async fn frozen_server_is_an_error_in_time(clients: &mut Clients) -> CheckEnd {
    // So that there is a connection.
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

/// `wrote`: whether the server, once it went on, did what it was asked.
fn judge(frozen: &Exchange, wrote: bool) -> CheckEnd {
    match &frozen.answer {
        Answer::Granted { .. } => frozen.wrong("it granted the lock while the server was frozen"),
        Answer::Error { definite: true, .. } if wrote => frozen.wrong(
            "it says `definite` = true: that nothing has happened; when the server went on, the key was there",
        ),
        Answer::Error { definite: true, .. } => {
            passed_with("it says `definite` = true; only an answer of Redis is definite")
        }
        Answer::Refused => {
            passed_with("it answers `refused`; `error` with `definite` = false says more")
        }
        _ => passed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::outcome::words;

    /// `definite` is only a lie where the command was executed after all.
    #[test]
    fn an_error_is_no_lie_until_the_key_is_there() {
        for (definite, wrote, expected) in [
            (false, true, "passed"),
            (true, false, "passed"),
            (true, true, "the key was there"),
        ] {
            let message = "timed out".into();
            let error = Exchange::answered(Answer::Error { message, definite });
            let told = words(judge(&error, wrote));
            assert!(told.contains(expected), "{told}");
        }
    }
}
