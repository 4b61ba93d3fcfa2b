//! Decisions about errors of accesses to mapped memory.

use std::sync::Arc;

use crate::Error;

/// What becomes of an access whose page cannot be provided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Try again: the handler has waited, or made room.
    Retry,
    /// Give up: a method returns the error; an access to mapped memory receives SIGBUS, as with `mmap`.
    Fail,
}

/// Decides about errors of accesses to mapped memory, and learns of errors that no call can return.
pub type OnError = Arc<dyn Fn(&Error) -> Recovery + Send + Sync>;
