//! What a server answers to a recorded command.

/// The answer to a recorded command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandReply {
    /// Its length in bytes, without the protocol's overhead.
    pub bytes: usize,
    /// Whether it says that there is nothing: a nil, or an empty list.
    pub is_missing: bool,
}
