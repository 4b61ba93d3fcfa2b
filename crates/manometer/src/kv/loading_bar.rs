//! The bar on the terminal while the database is loaded.

use indicatif::{ProgressBar, ProgressStyle};
use manometer_session::protocol::{Control, Message};
use manometer_session::single::MessageHandler;

/// Draws a bar while the database is loaded, and passes other messages on.
pub(super) struct LoadingBar<'a> {
    bar: ProgressBar,
    observer: &'a mut dyn MessageHandler,
}

impl<'a> LoadingBar<'a> {
    pub(super) fn new(observer: &'a mut dyn MessageHandler) -> Self {
        let style = ProgressStyle::with_template("loading {bar:40} {human_pos}/{human_len} records, {eta} left");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Self { bar: ProgressBar::new(0).with_style(style), observer }
    }
}

impl MessageHandler for LoadingBar<'_> {
    fn receive(&mut self, message: Message, received_ns: u64) -> Vec<Control> {
        if let Message::Progress { done, total, .. } = message {
            self.bar.set_length(total);
            self.bar.set_position(done);
            return Vec::new();
        }
        self.bar.finish_and_clear();
        self.observer.receive(message, received_ns)
    }

    fn is_over(&self, now_ns: u64) -> bool {
        self.observer.is_over(now_ns)
    }
}
