//! The sections of readers and writers.

use super::client_driver::{ClientDriver, Hold, RequestAborted};
use super::work::Work;
use crate::backend::Backend;
use crate::history::EventKind;

impl<B: Backend> ClientDriver<B> {
    /// Reads both halves of the value, or changes one half after the other. The first half is the stock.
    pub(super) async fn read_write_section(
        &mut self,
        mut hold: Hold,
    ) -> Result<(), RequestAborted> {
        self.ping(&hold).await?;
        match self.read_stock(&hold).await? {
            Some(first) if self.context.spec.scenario.workload.reads(self.worker) => {
                self.read_second_half(&mut hold, first).await?;
            }
            Some(first) if first > 0 => self.change_both_halves(&mut hold, first).await?,
            _ => {}
        }
        let left = self.context.stock.borrow().remaining();
        if left.get(hold.key as usize).is_none_or(|left| *left <= 0) {
            self.unsold_keys.retain(|key| *key != hold.key);
        }
        self.release(hold).await
    }

    /// Works for the whole section, and then reads the second half.
    async fn read_second_half(
        &mut self,
        hold: &mut Hold,
        first: i64,
    ) -> Result<(), RequestAborted> {
        let (worker, op, key) = (self.worker, hold.op, hold.key);
        let section = self.context.spec.section_of(worker);
        if self.work_through(hold, section).await? == Work::Stopped {
            return Ok(());
        }
        self.ping(hold).await?;
        if self.client.has_lost(op) {
            return Ok(());
        }
        let second = self.context.stock.borrow().second_half(key);
        self.write(EventKind::ValueRead {
            worker,
            op,
            key,
            first,
            second,
        })
    }

    /// Works for half of the section, changes the first half, works for the rest, and changes the second half.
    async fn change_both_halves(
        &mut self,
        hold: &mut Hold,
        first: i64,
    ) -> Result<(), RequestAborted> {
        let (worker, op, key) = (self.worker, hold.op, hold.key);
        let half = self.context.spec.section_of(worker) / 2;
        for is_first in [true, false] {
            let work = self.work_through(hold, half).await?;
            self.ping(hold).await?;
            if work == Work::Stopped || self.client.has_lost(op) {
                return Ok(());
            }
            if is_first {
                self.change_stock(hold, first).await?;
                continue;
            }
            let to = first - 1;
            self.check_alive()?;
            self.context.stock.borrow_mut().write_second_half(key, to);
            self.write(EventKind::ValueWritten {
                worker,
                op,
                key,
                to,
            })?;
        }
        Ok(())
    }
}
