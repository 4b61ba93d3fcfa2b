//! The line between a workload and whoever drives it.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, TryRecvError};

use crate::protocol::{Control, Message};

/// What a workload hears: control lines, in order.
pub struct Controls {
    receiver: Receiver<Control>,
    has_stopped: Cell<bool>,
}

impl Controls {
    /// Controls that arrive on `receiver`; its end is [`Control::Stop`].
    pub fn new(receiver: Receiver<Control>) -> Self {
        Self { receiver, has_stopped: Cell::new(false) }
    }

    /// The next control line, if one has arrived.
    pub fn poll(&self) -> Option<Control> {
        match self.receiver.try_recv() {
            Ok(control) => Some(self.noted(control)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(self.noted(Control::Stop)),
        }
    }

    /// The next control line, once one has arrived.
    pub fn next(&self) -> Control {
        self.noted(self.receiver.recv().unwrap_or(Control::Stop))
    }

    /// Waits until it has been told to stop; returns at once where it has been.
    pub fn wait_for_stop(&self) {
        while !self.has_stopped.get() {
            self.next();
        }
    }

    fn noted(&self, control: Control) -> Control {
        self.has_stopped.set(self.has_stopped.get() || control == Control::Stop);
        control
    }
}

/// Where a workload tells what it did.
pub trait Sink: Send {
    /// Passes `message` on.
    ///
    /// # Errors
    /// Nobody listens any more: the workload shall end.
    fn send(&mut self, message: Message) -> std::io::Result<()>;
}

impl<F: FnMut(Message) -> std::io::Result<()> + Send> Sink for F {
    fn send(&mut self, message: Message) -> std::io::Result<()> {
        self(message)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_stop_that_was_heard_is_not_waited_for_again() {
        let (sender, receiver) = channel();
        let controls = Controls::new(receiver);
        [Control::Go, Control::Stop, Control::Wait].into_iter().for_each(|control| sender.send(control).unwrap());
        assert_eq!([controls.poll(), controls.poll()], [Some(Control::Go), Some(Control::Stop)]);
        controls.wait_for_stop();
        assert_eq!(controls.next(), Control::Wait, "what follows is still there");
    }

    #[test]
    fn a_stop_is_waited_for_behind_other_lines_and_the_end_is_one() {
        let (sender, receiver) = channel();
        let controls = Controls::new(receiver);
        [Control::Go, Control::Stop].into_iter().for_each(|control| sender.send(control).unwrap());
        controls.wait_for_stop();
        let (_, receiver) = channel();
        Controls::new(receiver).wait_for_stop();
    }
}
