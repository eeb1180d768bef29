//! `end`: the adapter exits when its standard input ends, and leaves nothing behind.

use std::process::ExitStatus;

use super::{CheckEnd, Clients, EndSeen, RequestKind, Who, failed, passed};
use crate::adapter::exit::describe;

pub(super) async fn end_is_clean(clients: &mut Clients) -> CheckEnd {
    clients.ask(Who::One, RequestKind::Ping).await?;
    let end = clients.client(Who::One).await?.end_input().await;
    clients.kill(Who::One).await;
    judge(&end)
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
            "it {how}, and left processes behind: {}; they were killed",
            end.left.join(", ")
        ));
    }
    if *how != describe(ExitStatus::default()) {
        return failed(format!(
            "it {how} at the end of its standard input; expected status 0"
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
