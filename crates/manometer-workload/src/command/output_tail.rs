//! The last lines of a program, which an error quotes.

use std::collections::VecDeque;

use super::program::Line;

/// The number of last lines that an error quotes.
const QUOTED_LINES: usize = 8;

/// The last lines of a program's output.
#[derive(Debug, Default)]
pub(super) struct OutputTail(VecDeque<String>);

impl OutputTail {
    pub(super) fn push(&mut self, line: &Line) {
        if self.0.len() == QUOTED_LINES {
            self.0.pop_front();
        }
        self.0.push_back(line.text.clone());
    }

    pub(super) fn text(&self) -> String {
        if self.0.is_empty() { "(nothing)".to_owned() } else { Vec::from(self.0.clone()).join("\n") }
    }
}
