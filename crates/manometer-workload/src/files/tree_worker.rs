//! One thread of a file server or a mail server.

use super::client::FileClient;
use super::file_tree::FileTree;
use super::settings::Personality;
use super::{fileserver, varmail};
use crate::file_threads::{ThreadContext, ThreadEnd};

/// Runs the thread `index`.
pub(super) fn work(file_tree: &FileTree, shared: &ThreadContext<'_>, index: u32) -> Result<(), ThreadEnd> {
    let run_loop = match file_tree.personality {
        Personality::Varmail => varmail::run_loop,
        _ => fileserver::run_loop,
    };
    let mut client = FileClient::new(shared, file_tree, index);
    while shared.gate.await_start(index) {
        run_loop(&mut client)?;
    }
    Ok(())
}
