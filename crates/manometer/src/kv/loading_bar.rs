//! Progress while the database is loaded: a bar on the terminal, a line for each tenth elsewhere.

use std::io::{IsTerminal as _, stderr};

use indicatif::{ProgressBar, ProgressStyle};
use manometer_session::protocol::{Control, Message};
use manometer_session::single::MessageHandler;

use crate::output;

/// Shows how far the database is loaded, and passes other messages on.
pub(super) struct LoadingBar<'a> {
    bar: ProgressBar,
    /// The tenth that was shown last; none on a terminal, which shows the bar.
    tenth: Option<u64>,
    observer: &'a mut dyn MessageHandler,
}

impl<'a> LoadingBar<'a> {
    pub(super) fn new(observer: &'a mut dyn MessageHandler) -> Self {
        let style = ProgressStyle::with_template("loading {bar:40} {human_pos}/{human_len} records, {eta} left");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let tenth = (!stderr().is_terminal()).then_some(0);
        Self { bar: ProgressBar::new(0).with_style(style), tenth, observer }
    }

    fn show(&mut self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
        let now = (done * 10).checked_div(total).unwrap_or_default();
        if self.tenth.is_some_and(|shown| now > shown) {
            self.tenth = Some(now);
            output::note(&format!("loading: {done} of {total} records"));
        }
    }
}

impl MessageHandler for LoadingBar<'_> {
    fn receive(&mut self, message: Message, received_ns: u64) -> Vec<Control> {
        if let Message::Progress { done, total, .. } = message {
            self.show(done, total);
            return Vec::new();
        }
        self.bar.finish_and_clear();
        self.observer.receive(message, received_ns)
    }

    fn is_over(&self, now_ns: u64) -> bool {
        self.observer.is_over(now_ns)
    }
}
