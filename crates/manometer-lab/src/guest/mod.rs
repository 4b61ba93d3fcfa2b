//! A guest: a kernel of its own in user-mode-linux, which needs no privileges, no module and no device of this host.
//!
//! Its files are the host's, read-only, but for one directory that both share. Its disks are sparse files. Its first process
//! is this program ([`init::run`]), which does the task, writes the result and powers off.

pub mod init;
mod machine;
mod modules;
mod task;

pub use machine::{DISKS_MAX, GuestDisk, GuestMachine, KERNEL, disk_path};
pub use task::{GuestResult, GuestTask, TaskOutcome};
