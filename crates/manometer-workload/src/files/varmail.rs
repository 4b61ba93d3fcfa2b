//! A mail server: messages are delivered, read and marked, read, and removed; what is written is made durable.

use super::client::FileClient;
use crate::file_threads::ThreadEnd;

/// One loop, in the order of Filebench's `varmail`.
pub(super) fn run_loop(client: &mut FileClient<'_>) -> Result<(), ThreadEnd> {
    client.delete()?;
    client.create(|client, _, file, path| {
        client.append(file, path)?;
        client.fsync(file, path)
    })?;
    client.open(|client, file, path| {
        client.read_whole(file, path)?;
        client.append(file, path)?;
        client.fsync(file, path)
    })?;
    client.open(|client, file, path| client.read_whole(file, path))
}
