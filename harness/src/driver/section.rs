//! The critical section: what a buyer does while it holds the lock.

use picklock_scenarios::TriggerEvent;

use super::buyer::{Broken, Buyer, Hold};
use super::stock_store::{self, Access};
use super::work::Work;
use crate::backend::Backend;
use crate::context::FencedOff;
use crate::history::EventKind;

impl<W: Backend> Buyer<W> {
    /// The critical section. Between its steps the worker must answer a ping, so that a frozen
    /// worker really stops in the middle.
    pub(super) async fn critical_section(&mut self, mut hold: Hold) -> Result<(), Broken> {
        self.ping(&hold).await?;
        match self.read_stock(&hold).await? {
            Some(stock) if stock > 0 => {
                let work = self.work(&mut hold).await?;
                self.ping(&hold).await?;
                // A holder that learnt of the loss of its lease in time must not use the resource.
                if work == Work::Whole && !self.talk.has_lost(hold.op) {
                    self.change_stock(&hold, stock).await?;
                    self.ping(&hold).await?;
                }
            }
            Some(_) => self.open_keys.retain(|key| *key != hold.key),
            None => {}
        }
        self.release(hold).await
    }

    async fn read_stock(&mut self, hold: &Hold) -> Result<Option<i64>, Broken> {
        let (worker, op, key) = (self.worker, hold.op, hold.key);
        match stock_store::read(&self.context, key, hold.fence).await {
            Access::Done(stock) => {
                self.write(EventKind::StockRead {
                    worker,
                    op,
                    key,
                    stock,
                })?;
                self.event(TriggerEvent::StockRead, Some(stock)).await;
                if stock <= 0 {
                    self.context.stock.borrow_mut().announce_sold_out(key);
                }
                Ok(Some(stock))
            }
            Access::Failed => Ok(None),
            Access::FencedOff(refused) => self.fenced_off(hold, refused).map(|()| None),
        }
    }

    fn fenced_off(&self, hold: &Hold, refused: FencedOff) -> Result<(), Broken> {
        self.write(EventKind::FencedOff {
            worker: self.worker,
            op: hold.op,
            key: hold.key,
            fence: refused.fence,
            highest: refused.highest,
        })
    }

    async fn change_stock(&mut self, hold: &Hold, read: i64) -> Result<(), Broken> {
        let (worker, op, key) = (self.worker, hold.op, hold.key);
        match stock_store::sell(&self.context, key, read, hold.fence).await {
            Access::Done(change) => {
                self.bought += 1;
                self.write(EventKind::StockChanged {
                    worker,
                    op,
                    key,
                    from: change.from,
                    to: change.to,
                })?;
                self.event(TriggerEvent::StockChanged, Some(change.to))
                    .await;
            }
            Access::Failed => {}
            Access::FencedOff(refused) => self.fenced_off(hold, refused)?,
        }
        Ok(())
    }
}
