//! Where one worker runs: its command, and what is done with its process before it is told its job.

use std::path::Path;
use std::process::Command;

use super::container::Container;
use super::group::Group;
use super::{IsolateError, PriorityClass};

/// Where one worker runs.
#[derive(Debug, Default)]
pub(crate) struct Place {
    pub(super) group: Option<Group>,
    pub(super) container: Option<Container>,
    pub(super) priority: Option<PriorityClass>,
}

impl Place {
    /// The command that runs `program` as a worker here.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = match &self.container {
            Some(container) => container.command(program),
            None => Command::new(program),
        };
        command.arg("worker");
        command
    }

    /// Puts the worker that was started as `pid`, and has not been told its job, under its limits; returns the process
    /// that is the worker itself.
    pub(crate) fn admit(&self, pid: u32) -> Result<u32, IsolateError> {
        let pid = match (&self.container, &self.group) {
            // The container was made in the group.
            (Some(container), _) => container.worker_pid()?,
            (None, Some(group)) => group.enter(pid).map(|()| pid)?,
            (None, None) => pid,
        };
        if let Some(class) = self.priority {
            class.give(pid).map_err(|source| IsolateError::Priority { class, source })?;
        }
        Ok(pid)
    }
}
