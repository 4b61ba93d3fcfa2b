//! Requests that are sent without waiting for those before: many in flight on each of a few connections.

use std::time::Duration;

use super::command_reply::CommandReply;
use super::error::EngineError;

/// A request of an open loop.
#[derive(Debug, Clone, Copy)]
pub enum OpenLoopRequest<'a> {
    /// A look-up.
    Get {
        /// The key.
        key: &'a [u8],
    },
    /// A look-up of several keys in one request.
    GetMany {
        /// The keys, at least one.
        keys: &'a [&'a [u8]],
    },
    /// A write.
    Put {
        /// The key.
        key: &'a [u8],
        /// Its new value.
        value: &'a [u8],
        /// Seconds after which the value expires; 0 for never.
        ttl_s: u32,
    },
    /// A look-up and a write of the same key, which does not wait for the look-up. Both are one request.
    GetAndPut {
        /// The key.
        key: &'a [u8],
        /// Its new value.
        value: &'a [u8],
        /// Seconds after which the value expires; 0 for never.
        ttl_s: u32,
    },
    /// A deletion.
    Delete {
        /// The key.
        key: &'a [u8],
    },
    /// A recorded command in Redis's protocol.
    Command {
        /// Its first key.
        key: &'a [u8],
        /// The command.
        command: &'a [u8],
    },
}

impl<'a> OpenLoopRequest<'a> {
    /// The key that decides to which server it goes.
    #[cfg_attr(not(feature = "default"), allow(dead_code, reason = "a build may lack the servers"))]
    pub(super) fn key(&self) -> &'a [u8] {
        match self {
            Self::Get { key }
            | Self::Put { key, .. }
            | Self::GetAndPut { key, .. }
            | Self::Delete { key }
            | Self::Command { key, .. } => key,
            Self::GetMany { keys } => keys.first().copied().unwrap_or_default(),
        }
    }
}

/// What a server answers.
#[derive(Debug, Clone, Copy)]
pub enum OpenLoopReply<'a> {
    /// The value of a key, if it exists.
    Value(Option<&'a [u8]>),
    /// A write or a deletion is done.
    Done,
    /// The answer to a recorded command.
    Command(CommandReply),
}

/// The answer to a request, or to one key of a request for several.
#[derive(Debug)]
pub struct OpenLoopAnswer<'a> {
    /// The request's token.
    pub token: u64,
    /// The key's place in the request.
    pub place: usize,
    /// Whether it is the request's last answer.
    pub is_last: bool,
    /// The answer, or why there is none.
    pub reply: Result<OpenLoopReply<'a>, EngineError>,
}

/// Connections over which any number of requests can be in flight. One thread sends, another receives.
pub trait OpenLoop: Sync {
    /// Sends `request` without waiting; `token` comes back with its answer. What a connection does not take at once is
    /// sent by [`receive`](Self::receive). Requests for one key keep their order.
    ///
    /// # Errors
    /// The request cannot be sent: the protocol does not express it, the connection is lost, or too much waits to be sent
    /// already. It has no answer then.
    fn send(&self, token: u64, request: &OpenLoopRequest<'_>) -> Result<(), EngineError>;

    /// Waits for answers, `limit` at most, and calls `answered` for each. Restores lost connections; the requests in flight
    /// on one are answered with its error.
    ///
    /// # Errors
    /// The operating system refuses to wait.
    fn receive(&self, limit: Duration, answered: &mut dyn FnMut(OpenLoopAnswer<'_>)) -> Result<(), EngineError>;
}
