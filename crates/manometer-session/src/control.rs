//! The channels between a session and its controller.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, TryRecvError};

use crate::protocol::{Control, Message};

/// What a session receives: control lines, in order.
pub struct Controls {
    receiver: Receiver<Control>,
    is_stopped: Cell<bool>,
}

impl Controls {
    /// Controls received from `receiver`. When it is disconnected, the next one is [`Control::Stop`].
    pub fn new(receiver: Receiver<Control>) -> Self {
        Self { receiver, is_stopped: Cell::new(false) }
    }

    /// The next control line, if one has arrived.
    pub fn poll(&self) -> Option<Control> {
        let control = match self.receiver.try_recv() {
            Ok(control) => control,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Control::Stop,
        };
        self.is_stopped.set(self.is_stopped.get() || control == Control::Stop);
        Some(control)
    }

    /// Waits for the first [`Control::Stop`]; returns at once if it has arrived.
    pub fn wait_for_stop(&self) {
        while !self.is_stopped.get() {
            self.is_stopped.set(matches!(self.receiver.recv(), Ok(Control::Stop) | Err(_)));
        }
    }
}

/// Receives a session's messages.
pub trait MessageSink: Send {
    /// Sends `message`.
    ///
    /// # Errors
    /// The receiver is gone: the session ends.
    fn send(&mut self, message: Message) -> std::io::Result<()>;
}

impl<F: FnMut(Message) -> std::io::Result<()> + Send> MessageSink for F {
    fn send(&mut self, message: Message) -> std::io::Result<()> {
        self(message)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_received_stop_is_not_waited_for_again() {
        let (sender, receiver) = channel();
        let controls = Controls::new(receiver);
        [Control::Go, Control::Stop, Control::Wait].into_iter().for_each(|control| sender.send(control).unwrap());
        assert_eq!([controls.poll(), controls.poll()], [Some(Control::Go), Some(Control::Stop)]);
        controls.wait_for_stop();
        assert_eq!(controls.poll(), Some(Control::Wait), "what follows is still there");
    }

    #[test]
    fn a_stop_is_waited_for_behind_other_lines_and_a_closed_channel_is_one() {
        let (sender, receiver) = channel();
        let controls = Controls::new(receiver);
        [Control::Go, Control::Stop].into_iter().for_each(|control| sender.send(control).unwrap());
        controls.wait_for_stop();
        let (_, receiver) = channel();
        Controls::new(receiver).wait_for_stop();
    }
}
