//! Questions on the terminal.

use std::io::{IsTerminal as _, stdin};
use std::str::FromStr;

use crate::output;

/// Asks for what no flag gives, on a terminal.
pub(super) struct Questions {
    is_asking: bool,
}

impl Questions {
    /// Questions on the terminal, if there is one and `is_quiet` does not forbid them.
    pub(super) fn new(is_quiet: bool) -> Self {
        Self { is_asking: !is_quiet && stdin().is_terminal() }
    }

    /// The value of the flag, or the answer to `question`, or `default`. An answer that does not parse is asked for again.
    pub(super) fn ask<T>(&self, given: Option<T>, question: &str, default: &str) -> anyhow::Result<T>
    where
        T: FromStr,
        T::Err: std::fmt::Display,
    {
        if let Some(given) = given {
            return Ok(given);
        }
        loop {
            let answer = if self.is_asking { self.answer(question, default)? } else { default.to_owned() };
            match answer.parse() {
                Ok(value) => return Ok(value),
                Err(error) if self.is_asking => output::note(&format!("  {error}")),
                Err(error) => anyhow::bail!("{error}"),
            }
        }
    }

    /// The line that answers `question`; an empty one is `default`.
    fn answer(&self, question: &str, default: &str) -> anyhow::Result<String> {
        output::note(&format!("{question} [{default}]"));
        let mut line = String::new();
        anyhow::ensure!(stdin().read_line(&mut line)? > 0, "the questions were not answered: use flags, or --yes");
        let line = line.trim();
        Ok(if line.is_empty() { default } else { line }.to_owned())
    }
}
