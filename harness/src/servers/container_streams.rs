//! Connects the standard streams of a worker's container to the standard streams of a separate process, so that the
//! driver can treat a worker in a container like any other worker.

use std::pin::Pin;

use bollard::Docker;
use bollard::container::{AttachContainerResults, LogOutput};
use bollard::errors::Error;
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, StartContainerOptions, WaitContainerOptions,
};
use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncWrite, AsyncWriteExt, copy, stderr, stdin, stdout};

use super::engine::{self, refused};
use super::server::ServerFuture;

type Output = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

/// Starts the container, and copies data between its streams and the streams of this process until the container exits.
/// Returns its exit status.
///
/// # Errors
/// Returns an error if the engine does not answer, or refuses.
pub fn carry_streams(name: &str) -> ServerFuture<'_, u8> {
    Box::pin(async move {
        let engine = engine::connect().await?;
        let options = AttachContainerOptionsBuilder::new()
            .stdin(true)
            .stdout(true)
            .stderr(true)
            .stream(true)
            .build();
        let failed = |doing| refused(name, doing);
        // Attach before the start, so that the first output is not lost.
        let attached = engine.attach_container(name, Some(options)).await;
        let AttachContainerResults { output, input } =
            attached.map_err(failed("attach to the container"))?;
        let started = engine.start_container(name, None::<StartContainerOptions>);
        started.await.map_err(failed("start the container"))?;
        tokio::select! {
            // Only the end of the output ends the copying. The end of the input is passed on.
            () = copy_output(output) => {}
            () = copy_input(input) => {}
        }
        Ok(exit_status(&engine, name).await)
    })
}

async fn copy_output(mut output: Output) {
    let (mut out, mut err) = (stdout(), stderr());
    while let Some(Ok(frame)) = output.next().await {
        let to: &mut (dyn AsyncWrite + Send + Unpin) = match frame {
            LogOutput::StdErr { .. } => &mut err,
            _ => &mut out,
        };
        // If the write fails, the reader is gone.
        if to.write_all(&frame.into_bytes()).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

/// Copies the input. Never returns, because an adapter may answer after its input has ended.
async fn copy_input(mut input: Pin<Box<dyn AsyncWrite + Send>>) {
    // If this fails, the container no longer reads, and its output will end, too.
    let _ = copy(&mut stdin(), &mut input).await;
    let _ = input.shutdown().await;
    std::future::pending().await
}

/// Returns the container's exit status. If the container no longer exists, it was killed.
async fn exit_status(engine: &Docker, name: &str) -> u8 {
    const KILLED: u8 = 137;
    let mut waiting = engine.wait_container(name, None::<WaitContainerOptions>);
    match waiting.next().await {
        Some(Ok(ended)) => u8::try_from(ended.status_code).unwrap_or(u8::MAX),
        Some(Err(Error::DockerContainerWaitError { code, .. })) => {
            u8::try_from(code).unwrap_or(u8::MAX)
        }
        Some(Err(_)) | None => KILLED,
    }
}
