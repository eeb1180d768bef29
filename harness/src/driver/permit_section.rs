//! The section of a client with a permit.

use super::client_driver::{ClientDriver, Hold, RequestAborted};
use crate::backend::Backend;

impl<B: Backend> ClientDriver<B> {
    /// Takes one job from the stock, and works on it. Several clients may do so at the same time, so the stock is read
    /// and changed in one step.
    pub(super) async fn permit_section(&mut self, mut hold: Hold) -> Result<(), RequestAborted> {
        self.ping(&hold).await?;
        match self.read_stock(&hold).await? {
            Some(stock) if stock > 0 => {
                if self.ends_in_first_section() {
                    return self.end_client(&hold).await;
                }
                // If a fault fired after the reading, other clients may have taken the last job since.
                let left = self.context.stock.borrow().remaining();
                let left = left.get(hold.key as usize).copied().unwrap_or(0);
                if left > 0 && !self.client.has_lost(hold.op) {
                    self.change_stock(&hold, left).await?;
                    self.work(&mut hold).await?;
                    self.ping(&hold).await?;
                    if self.section_fails() {
                        return self.fail(hold).await;
                    }
                }
            }
            Some(_) => self.unsold_keys.retain(|key| *key != hold.key),
            None => {}
        }
        self.release(hold).await
    }
}
