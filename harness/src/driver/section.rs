//! The critical section of a client.

use std::rc::Rc;

use picklock_scenarios::{StockFault, TriggerEvent, WorkloadKind};

use super::client_driver::{ClientDriver, Hold, RequestAborted};
use super::requests::happened;
use super::stock_store::{self, Access};
use super::work::Work;
use crate::backend::Backend;
use crate::context::{FencedOff, RunContext};
use crate::history::{Belated, EventKind};

impl<B: Backend> ClientDriver<B> {
    /// Runs the critical section. Between its steps the worker must answer a ping, so that a frozen
    /// worker really stops in the middle.
    pub(super) async fn critical_section(&mut self, mut hold: Hold) -> Result<(), RequestAborted> {
        match self.context.spec.scenario.workload.kind {
            WorkloadKind::FlashSale => {}
            WorkloadKind::Permits => return self.permit_section(hold).await,
            WorkloadKind::ReadWrite => return self.read_write_section(hold).await,
            WorkloadKind::Ticks => return self.job(hold).await,
            WorkloadKind::Leader => return self.leader_section(hold).await,
        }
        self.ping(&hold).await?;
        match self.read_stock(&hold).await? {
            Some(stock) if stock > 0 => {
                if self.ends_in_first_section() {
                    return self.end_client(&hold).await;
                }
                let work = self.work(&mut hold).await?;
                self.ping(&hold).await?;
                if self.section_fails() {
                    return self.fail(hold).await;
                }
                // A holder that has received the report of a loss must not use the resource.
                let has_lost = |op| self.client.has_lost(op);
                let has_lost_any = has_lost(hold.op) || self.also_held.is_some_and(has_lost);
                let may_write = work == Work::Whole && !has_lost_any;
                self.write_stock(&hold, stock, may_write).await?;
            }
            Some(_) => self.unsold_keys.retain(|key| *key != hold.key),
            None => {}
        }
        self.release(hold).await
    }

    /// Returns `true` if the current section is the client's first one, and the client has to end in it.
    pub(super) fn ends_in_first_section(&self) -> bool {
        let ending = self.context.spec.scenario.workload.ending_clients;
        usize::try_from(ending).is_ok_and(|ending| self.worker < ending)
    }

    /// Returns `true` if this section has to fail, and counts it.
    pub(super) fn section_fails(&mut self) -> bool {
        let fails = self.failed < self.context.spec.scenario.workload.failing_sections;
        self.failed += u32::from(fails);
        fails
    }

    pub(super) async fn read_stock(&mut self, hold: &Hold) -> Result<Option<i64>, RequestAborted> {
        let (worker, op, key) = (self.worker, hold.op, hold.key);
        // A stale replica does not check tokens.
        let stale = self.context.stock_faults.stale_read(worker, key);
        let (access, as_of_ns) = match stale {
            Some((stock, as_of_ns)) => (Access::Done(stock), Some(as_of_ns)),
            None => {
                let access = stock_store::read(&self.context, key, hold.fence);
                (access.await, None)
            }
        };
        match access {
            Access::Done(stock) => {
                self.write(EventKind::StockRead {
                    worker,
                    op,
                    key,
                    stock,
                    as_of_ns,
                })?;
                self.event(TriggerEvent::StockRead, Some(stock)).await;
                if stock <= 0 {
                    self.context.stock.borrow_mut().announce_sold_out(key);
                }
                Ok(Some(stock))
            }
            Access::Failed => Ok(None),
            Access::FencedOff(refused) => {
                self.write(fenced_off((worker, op, key), refused))?;
                Ok(None)
            }
        }
    }

    pub(super) async fn change_stock(
        &mut self,
        hold: &Hold,
        read: i64,
    ) -> Result<(), RequestAborted> {
        let sale = self.sale(hold, read);
        let Some(what) = sale.make(&self.context, None).await else {
            return Ok(());
        };
        let left = stock_after(&what);
        self.bought += u32::from(left.is_some());
        self.write(what)?;
        if left.is_some() {
            self.event(TriggerEvent::StockChanged, left).await;
        }
        Ok(())
    }

    /// Changes the stock that was read, if the holder may write. If a fault affects the worker's writes, passes the
    /// write to the fault.
    pub(super) async fn write_stock(
        &mut self,
        hold: &Hold,
        read: i64,
        may_write: bool,
    ) -> Result<(), RequestAborted> {
        match self.context.stock_faults.write_fault(self.worker) {
            None if may_write => {
                self.change_stock(hold, read).await?;
                self.ping(hold).await
            }
            Some(fault) if may_write || fault == StockFault::UncheckedWrite => {
                self.write_belatedly(hold, read, fault).await
            }
            _ => Ok(()),
        }
    }

    /// Passes the write to a fault. The write arrives when the fault ends, whatever has happened to the lock by then.
    async fn write_belatedly(
        &mut self,
        hold: &Hold,
        read: i64,
        by: StockFault,
    ) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        let mut sale = self.sale(hold, read);
        let requested_at_ns = context.clock.now_ns();
        let incarnation = self.incarnation;
        if by == StockFault::LateCommit {
            // Only the statement is checked against the token. The commit, which comes later, is not checked.
            let admitted = context.stock.borrow_mut().read(sale.key, sale.fence);
            if let Err(refused) = admitted {
                return self.write(fenced_off((sale.worker, sale.op, sale.key), refused));
            }
            sale.fence = None;
        }
        let write_task = tokio::task::spawn_local(async move {
            let write = async {
                // A late write was already sent, and arrives even if its worker has died. A dead worker cannot commit
                // or start a write.
                let is_over = context.live_workers.is_over(sale.worker, incarnation);
                if is_over && by != StockFault::LateWrite {
                    return;
                }
                let belated = Some(Belated {
                    by,
                    requested_at_ns,
                });
                if let Some(what) = sale.make(&context, belated).await {
                    let left = stock_after(&what);
                    context.recorder.write(what);
                    if left.is_some() {
                        happened(&context, sale.worker, TriggerEvent::StockChanged, left).await;
                    }
                }
            };
            context.stock_faults.keep_back(sale.worker, write).await;
        });
        if by == StockFault::LateWrite {
            // The client waits for an answer until its timeout. After that, it does not learn whether its write
            // arrived.
            let patience = self.context.spec.command_timeout();
            tokio::time::timeout(patience, write_task).await.ok();
        }
        Ok(())
    }

    fn sale(&self, hold: &Hold, read: i64) -> Sale {
        Sale {
            worker: self.worker,
            op: hold.op,
            key: hold.key,
            fence: hold.fence,
            read,
        }
    }
}

/// The sale of a unit, based on an earlier reading of the stock.
#[derive(Clone, Copy)]
struct Sale {
    worker: usize,
    op: u64,
    key: u32,
    fence: Option<u64>,
    read: i64,
}

impl Sale {
    /// Makes the sale, and returns the event to record.
    async fn make<B: Backend>(
        self,
        context: &RunContext<B>,
        belated: Option<Belated>,
    ) -> Option<EventKind> {
        let (worker, op, key) = (self.worker, self.op, self.key);
        match stock_store::sell(context, key, self.read, self.fence).await {
            Access::Done(change) => Some(EventKind::StockChanged {
                worker,
                op,
                key,
                from: change.from,
                to: change.to,
                belated,
            }),
            Access::Failed => None,
            Access::FencedOff(refused) => Some(fenced_off((worker, op, key), refused)),
        }
    }
}

/// Returns the stock after a change, or `None` if the event is not a change of the stock.
fn stock_after(what: &EventKind) -> Option<i64> {
    match what {
        EventKind::StockChanged { to, .. } => Some(*to),
        _ => None,
    }
}

fn fenced_off((worker, op, key): (usize, u64, u32), refused: FencedOff) -> EventKind {
    EventKind::FencedOff {
        worker,
        op,
        key,
        fence: refused.fence,
        highest: refused.highest,
    }
}
