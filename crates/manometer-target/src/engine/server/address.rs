//! The address of a server, and how long to wait for it.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

/// The timeout of connecting.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The timeout of an answer.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Resolves an address; fails if the name does not resolve.
pub(crate) fn resolve(address: &str) -> io::Result<Vec<SocketAddr>> {
    Ok(address.to_socket_addrs()?.collect())
}
