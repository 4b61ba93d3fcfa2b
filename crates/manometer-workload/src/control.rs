//! The line between a workload and whoever drives it.

use std::sync::mpsc::{Receiver, TryRecvError};

use crate::protocol::{Control, Message};

/// What a workload hears: control lines, in order.
pub struct Controls(Receiver<Control>);

impl Controls {
    /// Controls that arrive on `receiver`; its end is [`Control::Stop`].
    pub fn new(receiver: Receiver<Control>) -> Self {
        Self(receiver)
    }

    /// The next control line, if one has arrived.
    pub fn poll(&self) -> Option<Control> {
        match self.0.try_recv() {
            Ok(control) => Some(control),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Control::Stop),
        }
    }

    /// The next control line, once one has arrived.
    pub fn next(&self) -> Control {
        self.0.recv().unwrap_or(Control::Stop)
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
