//! Where one worker runs: its command, and the limits of its process, applied before it gets its job.

use std::path::Path;
use std::process::Command;

use manometer_measure::process_mark::ProcessMark;

use super::cgroup::Cgroup;
use super::container::Container;
use super::error::IsolateError;
use super::io_priority::set_io_priority;
use crate::limits::PriorityClass;

/// Where one worker runs: a control group, a container, or neither.
#[derive(Debug, Default)]
pub(crate) struct WorkerPlacement {
    pub(super) group: Option<Cgroup>,
    pub(super) container: Option<Container>,
    pub(super) priority: Option<PriorityClass>,
}

impl WorkerPlacement {
    /// The command that runs `program` as a worker here.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = match &self.container {
            Some(container) => container.command(program),
            None => Command::new(program),
        };
        command.arg("worker");
        command
    }

    /// What the worker's processes will be found by; a container ends its own.
    pub(crate) fn mark(&self) -> Option<ProcessMark> {
        self.container.is_none().then(ProcessMark::new)
    }

    /// Applies the limits to the worker started as `pid`, which has no job yet. Returns the id of the worker's own
    /// process.
    pub(crate) fn admit(&self, pid: u32) -> Result<u32, IsolateError> {
        let pid = match (&self.container, &self.group) {
            // The container is created in the group.
            (Some(container), _) => container.worker_pid()?,
            (None, Some(group)) => group.enter(pid).map(|()| pid)?,
            (None, None) => pid,
        };
        if let Some(class) = self.priority {
            set_io_priority(pid, class).map_err(|source| IsolateError::Priority { class, source })?;
        }
        Ok(pid)
    }
}
