//! The stock that the clients sell from. Unless a fencing token forbids it, every write is applied, even a wrong one:
//! the stock must show what happens without a working lock.

use picklock_scenarios::Update;

#[derive(Debug, Clone, Copy, Default)]
struct KeyStock {
    left: i64,
    /// The second half of the value that readers and writers share. The first half is `left`.
    second_half: i64,
    sold: i64,
    highest_fence: Option<u64>,
    announced: bool,
}

/// The resource that the lock protects: a stock for each key, kept by the driver.
#[derive(Debug)]
pub struct Stock {
    keys: Vec<KeyStock>,
    update: Update,
}

/// The error if the resource refused an access because its token is lower than the highest token seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FencedOff {
    /// The token of the refused access.
    pub fence: u64,
    /// The highest token seen.
    pub highest: u64,
}

/// A change of the stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The stock before the change.
    pub from: i64,
    /// The stock after the change.
    pub to: i64,
}

impl Stock {
    /// Creates a stock with `start` units for each of `keys` keys.
    pub fn new(keys: usize, start: i64, update: Update) -> Self {
        let stock = KeyStock {
            left: start,
            second_half: start,
            ..KeyStock::default()
        };
        Stock {
            keys: vec![stock; keys],
            update,
        }
    }

    /// Returns the stock of a key. The token is checked at every access, including reads, because a successor must
    /// exclude the old holder as soon as it has read.
    ///
    /// # Errors
    /// Returns an error if the token is lower than the highest one seen.
    pub fn read(&mut self, key: u32, fence: Option<u64>) -> Result<i64, FencedOff> {
        Ok(self.stock(key, fence)?.left)
    }

    /// Sells one unit, based on the stock that the client has read.
    ///
    /// # Errors
    /// Returns an error if the token is lower than the highest one seen.
    pub fn sell(&mut self, key: u32, read: i64, fence: Option<u64>) -> Result<Change, FencedOff> {
        let update = self.update;
        let stock = self.stock(key, fence)?;
        let from = stock.left;
        stock.left = match update {
            Update::Decrement => from - 1,
            Update::Write => read - 1,
        };
        stock.sold += 1;
        Ok(Change {
            from,
            to: stock.left,
        })
    }

    /// Sets the remaining stock of a key, as read from Redis.
    pub fn learn(&mut self, key: u32, left: i64) {
        self.keys[key as usize].left = left;
    }

    /// Returns the second half of the value of a key.
    pub fn second_half(&self, key: u32) -> i64 {
        self.keys[key as usize].second_half
    }

    /// Changes the second half of the value of a key.
    pub fn write_second_half(&mut self, key: u32, to: i64) {
        self.keys[key as usize].second_half = to;
    }

    /// Announces that a key is sold out.
    pub fn announce_sold_out(&mut self, key: u32) {
        self.keys[key as usize].announced = true;
    }

    /// Returns `true` if the key has been announced as sold out.
    pub fn is_announced(&self, key: u32) -> bool {
        self.keys[key as usize].announced
    }

    /// Returns the units left, one number per key.
    pub fn remaining(&self) -> Vec<i64> {
        self.keys.iter().map(|stock| stock.left).collect()
    }

    /// Returns the units sold, one number per key.
    pub fn sold(&self) -> Vec<i64> {
        self.keys.iter().map(|stock| stock.sold).collect()
    }

    fn stock(&mut self, key: u32, fence: Option<u64>) -> Result<&mut KeyStock, FencedOff> {
        let stock = &mut self.keys[key as usize];
        if let Some(fence) = fence {
            if let Some(highest) = stock.highest_fence.filter(|highest| *highest > fence) {
                return Err(FencedOff { fence, highest });
            }
            stock.highest_fence = Some(fence);
        }
        Ok(stock)
    }
}
