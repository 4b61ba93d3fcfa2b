//! A file server: whole files are written, appended to, read, deleted and looked up.

use super::client::FileClient;
use crate::file_threads::ThreadEnd;

/// One loop, in the order of Filebench's `fileserver`.
pub(super) fn run_loop(client: &mut FileClient<'_>) -> Result<(), ThreadEnd> {
    client.create(|client, taken_file, file, path| client.write_whole(taken_file, file, path))?;
    client.open(|client, file, path| client.append(file, path))?;
    client.open(|client, file, path| client.read_whole(file, path))?;
    client.delete()?;
    client.stat()
}
