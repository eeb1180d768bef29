//! The exit of an adapter: after the end of its standard input, and after SIGTERM.

use std::process::ExitStatus;

use super::acquire::must_be_refused;
use super::{CheckEnd, Clients, EndSeen, RequestKind, Who, failed, passed, passed_with};
use crate::adapter::exit::describe;

pub(super) async fn end_is_clean(clients: &mut Clients) -> CheckEnd {
    clients.ask(Who::One, RequestKind::Ping).await?;
    let end = clients.client(Who::One).await?.end_input().await;
    clients.kill(Who::One).await;
    judge(&end)
}

/// Terminates a client whose request was refused. Its clean-up must not touch the other client's lock.
pub(super) async fn sigterm_ends_it(clients: &mut Clients) -> CheckEnd {
    let grant = clients.take(Who::One).await?;
    grant.granted()?;
    let refused = clients.take(Who::Two).await?;
    must_be_refused(&refused)?;
    let client = clients.client(Who::Two).await?;
    let is_contained = client.is_contained();
    let end = client.terminate().await;
    clients.kill(Who::Two).await;
    let next = clients.take(Who::Two).await?;
    if next.token().is_some() {
        return next.fail(
            "a client that had been refused received SIGTERM, and the lock of the other client was gone",
        );
    }
    clients.release(Who::One, &grant).await?;
    judge_sigterm(&end, is_contained)
}

fn judge_sigterm(end: &EndSeen, is_contained: bool) -> CheckEnd {
    match &end.how {
        Some(how) if end.left.is_empty() => passed_with(how.clone()),
        Some(how) => failed(format!(
            "{how}, and left processes behind: {}; they were killed",
            end.left.join(", ")
        )),
        // The kernel does not deliver signals to the first process of a container if that process does not handle them.
        None if is_contained => {
            passed_with("it does not handle it, and is killed after the grace period")
        }
        None => failed(format!(
            "it did not exit within {} s after SIGTERM; it was killed",
            end.within.as_secs()
        )),
    }
}

fn judge(end: &EndSeen) -> CheckEnd {
    let Some(how) = &end.how else {
        return failed(format!(
            "it did not exit within {} s after its standard input had ended; it was killed",
            end.within.as_secs()
        ));
    };
    if !end.left.is_empty() {
        return failed(format!(
            "{how}, and left processes behind: {}; they were killed",
            end.left.join(", ")
        ));
    }
    if *how != describe(ExitStatus::default()) {
        return failed(format!(
            "{how} at the end of its standard input; expected status 0"
        ));
    }
    passed()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::conformance::outcome::describe as describe_outcome;

    #[test]
    fn ignored_sigterm_is_reported_outside_of_containers() {
        let message = |how: Option<&str>, left: &[&str], is_contained| {
            let end = EndSeen {
                how: how.map(str::to_owned),
                within: Duration::from_secs(3),
                left: left.iter().map(|process| (*process).to_owned()).collect(),
            };
            describe_outcome(judge_sigterm(&end, is_contained))
        };
        assert!(message(Some("exited with status 143"), &[], false).contains("passed"));
        assert!(message(Some("exited with status 0"), &["sleep (9)"], false).contains("sleep (9)"));
        assert!(message(None, &[], false).contains("did not exit within 3 s after SIGTERM"));
        assert!(message(None, &[], true).contains("passed"));
    }

    #[test]
    fn unclean_end_is_reported() {
        for (how, left, expected) in [
            (Some("exited with status 0"), vec![], "passed"),
            (Some("exited with status 2"), vec![], "expected status 0"),
            (
                Some("exited with status 0"),
                vec!["sleep (9)"],
                "left processes behind: sleep (9)",
            ),
            (None, vec![], "did not exit within 3 s"),
        ] {
            let message = describe_outcome(judge(&EndSeen {
                how: how.map(str::to_owned),
                within: Duration::from_secs(3),
                left: left.into_iter().map(str::to_owned).collect(),
            }));
            assert!(message.contains(expected), "{message}");
        }
    }
}
