//! A mailbox: messages from one task to another of the same thread.
//!
//! Driver and worker of a simulation say so little at a time that what a channel does to be safe
//! between threads would cost more than the message itself.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What both ends share.
struct Shelf<T> {
    messages: VecDeque<T>,
    reader: Option<Waker>,
    /// The reader has found nothing since it was last woken.
    waits: bool,
    writers: usize,
    read: bool,
}

/// An empty mailbox. It takes as many messages as there is memory for.
pub fn mailbox<T>() -> (Writer<T>, Reader<T>) {
    let shelf = Rc::new(RefCell::new(Shelf {
        messages: VecDeque::new(),
        reader: None,
        waits: false,
        writers: 1,
        read: true,
    }));
    (Writer(Rc::clone(&shelf)), Reader(shelf))
}

/// The end at which messages are put in.
pub struct Writer<T>(Rc<RefCell<Shelf<T>>>);

/// Nobody reads any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

impl<T> Writer<T> {
    /// Puts a message in.
    ///
    /// # Errors
    /// Where the reader is gone; the message is lost.
    pub fn send(&self, message: T) -> Result<(), Closed> {
        let mut shelf = self.0.borrow_mut();
        if !shelf.read {
            return Err(Closed);
        }
        shelf.messages.push_back(message);
        wake(&mut shelf);
        Ok(())
    }
}

/// A task is only marked as woken here, so that nothing can come back to the shelf.
fn wake<T>(shelf: &mut Shelf<T>) {
    if std::mem::take(&mut shelf.waits)
        && let Some(reader) = &shelf.reader
    {
        reader.wake_by_ref();
    }
}

impl<T> Clone for Writer<T> {
    fn clone(&self) -> Self {
        self.0.borrow_mut().writers += 1;
        Writer(Rc::clone(&self.0))
    }
}

impl<T> Drop for Writer<T> {
    fn drop(&mut self) {
        let mut shelf = self.0.borrow_mut();
        shelf.writers -= 1;
        if shelf.writers == 0 {
            wake(&mut shelf);
        }
    }
}

/// The end at which messages are taken out.
pub struct Reader<T>(Rc<RefCell<Shelf<T>>>);

impl<T> Reader<T> {
    /// The next message; `None` when there are no more and nobody can send any. Cancel-safe.
    pub async fn next(&mut self) -> Option<T> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// The next message, if there is one already.
    pub fn take(&mut self) -> Option<T> {
        self.0.borrow_mut().messages.pop_front()
    }

    fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<T>> {
        let mut shelf = self.0.borrow_mut();
        if let Some(message) = shelf.messages.pop_front() {
            return Poll::Ready(Some(message));
        }
        if shelf.writers == 0 {
            return Poll::Ready(None);
        }
        shelf.waits = true;
        let known = shelf.reader.as_ref();
        if known.is_none_or(|known| !known.will_wake(context.waker())) {
            let before = shelf.reader.replace(context.waker().clone());
            drop(shelf);
            // Not while the shelf is lent: nobody knows what goes with a task's last waker.
            drop(before);
        }
        Poll::Pending
    }
}

impl<T> Drop for Reader<T> {
    fn drop(&mut self) {
        let mut shelf = self.0.borrow_mut();
        shelf.read = false;
        let left = (std::mem::take(&mut shelf.messages), shelf.reader.take());
        drop(shelf);
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn messages_come_in_order_and_end_with_the_last_writer() {
        let (writer, mut reader) = mailbox();
        assert_eq!(reader.next().now_or_never(), None);
        let other = writer.clone();
        writer.send(1).unwrap();
        other.send(2).unwrap();
        drop(writer);
        assert_eq!(reader.next().now_or_never(), Some(Some(1)));
        assert_eq!(reader.next().now_or_never(), Some(Some(2)));
        assert_eq!(reader.next().now_or_never(), None);
        drop(other);
        assert_eq!(reader.next().now_or_never(), Some(None));
    }

    #[test]
    fn a_writer_learns_that_nobody_reads() {
        let (writer, reader) = mailbox();
        assert_eq!(writer.send(()), Ok(()));
        drop(reader);
        assert_eq!(writer.send(()), Err(Closed));
    }

    #[tokio::test]
    async fn a_reader_that_waits_is_woken() {
        let tasks = tokio::task::LocalSet::new();
        let read = tasks.run_until(async {
            let (writer, mut reader) = mailbox();
            let reading = tokio::task::spawn_local(async move {
                let first = reader.next().await;
                (first, reader.next().await)
            });
            tokio::task::yield_now().await;
            writer.send(1).unwrap();
            tokio::task::yield_now().await;
            drop(writer);
            reading.await.unwrap()
        });
        assert_eq!(read.await, (Some(1), None));
    }
}
