//! A backend whose workers write the lines of an input, and that has no servers.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use picklock_harness::adapter::line_reader::{Line, LineReader};
use picklock_harness::adapter::message::Request;
use picklock_harness::adapter::process::WorkerOutput;
use picklock_harness::adapter::protocol_fault::{read_message, too_long};
use picklock_harness::backend::{
    Backend, Capabilities, Clocks, Data, DataChange, KeyObservation, Links, Liveness,
    MissingKeyHistory, Nodes, Probe, Refusal, Replication, Sentinels, Session, StockServer,
    Workers,
};
use picklock_harness::history::{Event, KeyHistoryCheck};
use picklock_harness::proxy::{CommandsSent, IdleWait, ImposedId, LinkFault};
use picklock_scenarios::{BackendName, Phase, TaskScope};
use tokio::io::{AsyncWriteExt, BufReader, DuplexStream};

/// Capacity of the pipe from a worker to the driver, in bytes. It is larger than any input.
const PIPE: usize = 8 << 20;

/// Maximum pause between two lines, in milliseconds.
const MAX_PAUSE: u64 = 1_000_000;

/// The remaining lines of an input.
type Script = Rc<RefCell<VecDeque<Vec<u8>>>>;

/// A backend whose workers write the lines of an input.
pub struct TalkingBackend {
    script: Script,
}

impl TalkingBackend {
    /// Creates a backend whose workers write the lines of `input`.
    pub fn new(input: &[u8]) -> Self {
        let lines = input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec);
        TalkingBackend {
            script: Rc::new(RefCell::new(lines.collect())),
        }
    }
}

/// One start of a worker.
pub struct TalkingSession {
    script: Script,
    /// Pauses, lines and exits that the worker has yet to carry out.
    to_say: VecDeque<Utterance>,
    pipe: DuplexStream,
    lines: LineReader<BufReader<DuplexStream>>,
}

enum Utterance {
    Pause(Duration),
    Bytes(Vec<u8>),
    End,
}

impl TalkingSession {
    fn new(script: Script) -> Self {
        let (pipe, reader) = tokio::io::duplex(PIPE);
        TalkingSession {
            script,
            to_say: VecDeque::new(),
            pipe,
            lines: LineReader::new(BufReader::new(reader)),
        }
    }

    /// Queues the next line of the script, and the lines that belong to it.
    fn release(&mut self, id: u64) {
        let mut script = self.script.borrow_mut();
        let Some(line) = script.pop_front() else {
            return;
        };
        let mut next = Some(line);
        while let Some(line) = next.take() {
            match line.split_first() {
                Some((b'~', number)) => {
                    let text = std::str::from_utf8(number).unwrap_or_default();
                    let millis = text.trim().parse().unwrap_or(0_u64).min(MAX_PAUSE);
                    let pause = Duration::from_millis(millis);
                    self.to_say.push_back(Utterance::Pause(pause));
                    next = script.pop_front();
                }
                Some((b'!', _)) => self.to_say.push_back(Utterance::End),
                Some((b'+', rest)) => self.to_say.push_back(Utterance::Bytes(said(rest, id))),
                _ => self.to_say.push_back(Utterance::Bytes(said(&line, id))),
            }
            let follows = script
                .front()
                .is_some_and(|line| line.first() == Some(&b'+'));
            if next.is_none() && follows {
                next = script.pop_front();
            }
        }
    }
}

/// Converts a line to the bytes that the driver receives.
fn said(line: &[u8], id: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(line.len() + 8);
    for byte in line {
        match byte {
            b'$' => bytes.extend_from_slice(id.to_string().as_bytes()),
            other => bytes.push(*other),
        }
    }
    match bytes.last() {
        Some(b'\\') => drop(bytes.pop()),
        _ => bytes.push(b'\n'),
    }
    bytes
}

impl Session for TalkingSession {
    async fn send(&mut self, request: Request) -> Result<(), Refusal> {
        self.release(request.id);
        Ok(())
    }

    async fn next(&mut self) -> WorkerOutput {
        loop {
            // Complete lines come first: the worker's last lines are read before its exit.
            tokio::select! {
                biased;
                line = self.lines.next() => return match line {
                    Ok(Some(Line::Whole(text))) => {
                        read_message(&text).map_or_else(WorkerOutput::Garbage, WorkerOutput::Message)
                    }
                    Ok(Some(Line::TooLong(start))) => WorkerOutput::Garbage(too_long(&start)),
                    Ok(None) | Err(_) => WorkerOutput::Exited("closed its output".to_owned()),
                },
                () = std::future::ready(()), if !self.to_say.is_empty() => {}
            }
            match self.to_say.front() {
                Some(Utterance::Pause(pause)) => {
                    tokio::time::sleep(*pause).await;
                    self.to_say.pop_front();
                }
                Some(Utterance::Bytes(bytes)) => {
                    // The pipe has room for everything, so this completes at once.
                    self.pipe.write_all(bytes).await.ok();
                    self.to_say.pop_front();
                }
                Some(Utterance::End) => return WorkerOutput::Exited("ended".to_owned()),
                None => {}
            }
        }
    }
}

impl Workers for TalkingBackend {
    type Session = TalkingSession;

    async fn start_worker(
        &self,
        _: usize,
        _: u32,
    ) -> Result<(TalkingSession, Vec<String>), Refusal> {
        let nodes = vec!["redis://127.0.0.1:1".to_owned()];
        Ok((TalkingSession::new(Rc::clone(&self.script)), nodes))
    }

    async fn freeze_worker(&self, _: usize) -> Result<(), Refusal> {
        Ok(())
    }

    async fn thaw_worker(&self, _: usize) -> Result<(), Refusal> {
        Ok(())
    }

    async fn terminate_worker(&self, _: usize) -> Result<(), Refusal> {
        Ok(())
    }

    async fn until_worker_ended(&self, _: usize) {}

    async fn kill_worker(&self, _: usize) -> Result<(), Refusal> {
        Ok(())
    }

    async fn block_worker(&self, _: usize, _: TaskScope, _: Duration) -> Result<(), Refusal> {
        Ok(())
    }

    async fn unblock_worker(&self, _: usize, _: TaskScope) -> Result<Option<u64>, Refusal> {
        Ok(None)
    }

    async fn kill_all_workers(&self) {}
}

impl Links for TalkingBackend {
    fn impose(&self, _: LinkFault) -> ImposedId {
        unreachable!("the scenario has no fault of links")
    }

    fn lift(&self, _: ImposedId) {}

    fn frames_affected(&self, _: ImposedId) -> u64 {
        0
    }

    fn cut(&self, _: Option<&[usize]>, _: Option<&[usize]>) -> usize {
        0
    }

    fn set_phase(&self, _: usize, _: u64, _: Phase) {}

    fn begin_attempt(&self, _: u64, _: u32) {}

    fn idle_wait(&self, _: usize) -> Option<IdleWait> {
        None
    }

    fn first_idle_wait(&self, _: usize) -> Option<(u64, u64)> {
        None
    }

    fn commands_sent(&self) -> CommandsSent {
        CommandsSent::default()
    }

    fn last_command_ns(&self, _: usize, _: u64, _: Phase, _: u32) -> Option<u64> {
        None
    }

    fn has_sent_data(&self, _: usize) -> bool {
        true
    }
}

/// Returns the error for operations on nodes, which this backend does not have.
fn nothing_there<T>() -> Result<T, Refusal> {
    Err(Refusal::Failed("there is no node".to_owned()))
}

impl Nodes for TalkingBackend {
    async fn pause_node(&self, _: usize) -> Result<(), Refusal> {
        nothing_there()
    }

    async fn resume_node(&self, _: usize) -> Result<(), Refusal> {
        nothing_there()
    }

    async fn crash_node(&self, _: usize) -> Result<(), Refusal> {
        nothing_there()
    }

    async fn restart_node(&self, _: usize) -> Result<(), Refusal> {
        nothing_there()
    }
}

impl Replication for TalkingBackend {
    async fn cut_replication(&self, _: usize) -> Result<(), Refusal> {
        nothing_there()
    }

    async fn fail_over(&self, _: usize) -> Result<(), Refusal> {
        nothing_there()
    }
}

impl Sentinels for TalkingBackend {
    async fn promoted_by_sentinels(&self, _: usize) -> Result<String, Refusal> {
        nothing_there()
    }

    async fn demoted_by_sentinels(&self, _: usize) {}

    async fn failed_over_spontaneously(&self, _: usize) -> bool {
        false
    }
}

impl Clocks for TalkingBackend {
    async fn set_node_clock(&self, _: usize, _: i64) -> Result<(), Refusal> {
        nothing_there()
    }

    async fn set_worker_clock(&self, _: usize, _: i64) -> Result<(), Refusal> {
        nothing_there()
    }
}

impl Data for TalkingBackend {
    async fn change_data(&self, _: usize, _: &DataChange) -> Result<u64, Refusal> {
        nothing_there()
    }
}

impl KeyObservation for TalkingBackend {
    async fn key_changes(&self) -> Result<Vec<Event>, MissingKeyHistory> {
        Err("there is no node".to_owned().into())
    }

    async fn key_history_check(&self) -> Option<KeyHistoryCheck> {
        None
    }

    async fn keys_of(&self, _: usize, locks: &[String]) -> Vec<Vec<String>> {
        vec![Vec::new(); locks.len()]
    }
}

impl StockServer for TalkingBackend {
    async fn query_stock_server(&self, _: &[&str]) -> Result<Option<i64>, Refusal> {
        nothing_there()
    }
}

impl Probe for TalkingBackend {
    async fn key_ttl_ms(&self, _: usize, _: &str) -> Option<i64> {
        None
    }
}

impl Liveness for TalkingBackend {}

impl Backend for TalkingBackend {
    fn name(&self) -> BackendName {
        BackendName::Sim
    }

    async fn capabilities(&self) -> Capabilities {
        Capabilities::for_backend(BackendName::Sim)
    }
}
