//! The Redis server that keeps the stock, in runs whose scenario keeps it in Redis.

use std::future::Future;

use super::Refusal;

/// A Redis server beside the nodes. No worker reaches it, and no fault strikes it.
pub trait StockServer {
    /// Sends it a command. Returns its answer as a number; `None`: nil.
    fn ask_stock_server(
        &self,
        command: &[&str],
    ) -> impl Future<Output = Result<Option<i64>, Refusal>>;
}
