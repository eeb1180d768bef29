//! The Redis image, built from this machine's own server if no registry can be reached.

use std::process::Stdio;

use picklock_harness::named_server::NamedServer;
use picklock_harness::servers::{BackendError, Image};
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::exit::Failure;
use crate::print;

/// The script `scripts/redis-image`, embedded for an installed picklock.
const SCRIPT: &str = include_str!("../scripts/redis-image");

/// Returns the image that the user gave, or the image of the server that the user named. Otherwise returns the official
/// image, or builds one.
///
/// # Errors
/// Returns an error if there is no engine, or if no image can be pulled or built.
pub async fn choose(given: Option<&str>, named: Option<NamedServer>) -> Result<Image, Failure> {
    let missing = match Image::choose(given, named).await {
        Ok(image) => return Ok(image),
        Err(missing @ BackendError::NoDefaultImage { .. }) => missing,
        Err(other) => return Err(other.into()),
    };
    print::err(&Inert::literal(
        "no Redis image was found and none can be pulled: building one from this machine's server\n",
    ));
    build().await.map_err(|why| {
        Failure::Environment(inert!(
            "{}; building it failed: {}",
            Inert::lines(&missing.to_string()),
            Inert::lines(&why)
        ))
    })?;
    Ok(Image::choose(None, None).await?)
}

/// Runs the script, which is part of Picklock and takes no input from the user.
async fn build() -> Result<(), String> {
    let mut child = Command::new("bash")
        .arg("-s")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("cannot start bash: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        // A script that exits before it has read everything explains why on standard error.
        input.write_all(SCRIPT.as_bytes()).await.ok();
    }
    let output = child
        .wait_with_output()
        .await
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
