//! Synthetic histories for a page: long ones and hostile ones.

use picklock_verdicts::history::{Event, EventKind, History, read_history};

/// Returns the header of a history with this many workers.
pub fn header(workers: usize) -> String {
    format!(
        concat!(
            r#"{{"format":"picklock-history/1","scenario":"flash-sale","lock":"set-nx-px","#,
            r#""backend":"sim","seed":7,"workers":{},"nodes":1,"keys":["stock"],"ttl_ms":1000,"#,
            r#""stock_start":200000,"update":"decrement","min_grants":2,"#,
            r#""progress_within_ms":3000}}"#,
        ),
        workers
    )
}

/// Returns a history of purchases with six events each, one after the other, by eight workers in turn. Every
/// thousandth holder stays so long that the next one overlaps with it.
pub fn long(purchases: u64) -> History {
    let mut history = read_history(header(8).as_bytes()).expect("a valid header");
    history.events = (0..purchases).flat_map(purchase).collect();
    history.events.sort_by_key(|event| event.at_ns);
    history
}

fn purchase(op: u64) -> [Event; 6] {
    const STEP_NS: u64 = 3_000_000;
    let worker = (op % 8) as usize;
    // Each request arrives a little later, because the times of a real lock are never round.
    let requested_at_ns = op * STEP_NS + op * 7_919 % 400_000;
    let granted_ns = op * STEP_NS + 600_000;
    let held_ns = match op % 1_000 {
        999 => 5_000_000,
        _ => 1_700_000 + op * 104_729 % 500_000,
    };
    let left = 199_999 - op as i64;
    let request = EventKind::Acquire {
        worker,
        op,
        key: 0,
        ttl_ms: 1_000,
        wait_ms: 0,
        intended_ns: None,
        weight: 1,
    };
    let granted = EventKind::Granted {
        worker,
        op,
        token: format!("token-of-attempt-{op:08}"),
        fence: Some(op + 1),
        valid_ms: Some(1_000),
        elapsed_ms: Some(0),
    };
    let read = EventKind::StockRead {
        worker,
        op,
        key: 0,
        stock: left + 1,
        as_of_ns: None,
    };
    let sold = EventKind::StockChanged {
        worker,
        op,
        key: 0,
        from: left + 1,
        to: left,
        belated: None,
    };
    let released = EventKind::Released {
        worker,
        op,
        released: Some(true),
        last_command_ns: None,
    };
    [
        (requested_at_ns, request),
        (granted_ns, granted),
        (granted_ns + 100_000, read),
        (granted_ns + 900_000, sold),
        (granted_ns + held_ns, EventKind::Release { worker, op }),
        (granted_ns + held_ns + 250_000, released),
    ]
    .map(|(at_ns, what)| Event { at_ns, what })
}
