//! A client that ends while its process lives.

use std::time::Duration;

use picklock_harness::adapter::serve::serve;
use picklock_impls::{DynLock, Grant, Lock, LockError};

/// A lock that is never granted.
struct NeverGrants;

impl Lock for NeverGrants {
    async fn acquire(
        &mut self,
        _: &str,
        _: Duration,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        Ok(None)
    }

    async fn release(&mut self, _: &str, _: &Grant) -> Result<bool, LockError> {
        Ok(false)
    }
}

/// Returns the lines that answer these requests.
async fn replies_to(requests: &[&str]) -> Vec<String> {
    let mut output = Vec::new();
    let build = |_, _| async { Ok(Box::new(NeverGrants) as Box<dyn DynLock>) };
    let input = requests.join("\n") + "\n";
    serve(
        input.as_bytes(),
        &mut output,
        build,
        |_| {},
        std::future::pending(),
    )
    .await
    .unwrap();
    let output = String::from_utf8(output).unwrap();
    output.lines().map(str::to_owned).collect()
}

/// The background tasks of the ended client continue with the process, which other clients share.
#[tokio::test]
async fn process_of_a_client_that_has_ended_serves_others() {
    let replies = replies_to(&[
        r#"{"id":1,"op":"init","protocol":1,"worker":0,"nodes":[],"timeout_ms":1,"seed":1}"#,
        r#"{"id":2,"op":"end-client"}"#,
        r#"{"id":3,"client":1,"op":"join","nodes":[],"seed":1}"#,
        r#"{"id":4,"client":1,"op":"acquire","key":"k","ttl_ms":1,"wait_ms":0}"#,
    ])
    .await;
    for line in [
        r#"{"id":2,"reply":"ended"}"#,
        r#"{"id":3,"client":1,"reply":"joined"}"#,
        r#"{"id":4,"client":1,"reply":"refused"}"#,
    ] {
        assert!(
            replies.iter().any(|one| one == line),
            "no {line} in {replies:#?}"
        );
    }
}
