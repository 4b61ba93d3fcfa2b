//! Values as readers get them.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The bytes of a value: a reference to a cached block, or bytes of its own. Cloning is cheap.
///
/// It keeps its block, usually of 4 KiB, in memory while it lives: copy small values that are kept for long.
#[derive(Clone)]
pub struct Value {
    bytes: Arc<[u8]>,
    start: u32,
    len: u32,
}

impl Value {
    /// `len` bytes of `bytes` from `start` on. They must exist: debug builds assert it here, release builds panic at
    /// the first use.
    pub(crate) fn part(bytes: Arc<[u8]>, start: u32, len: u32) -> Self {
        debug_assert!(start as usize + len as usize <= bytes.len());
        Self { bytes, start, len }
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self { bytes: Arc::from(bytes), start: 0, len: bytes.len() as u32 }
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start as usize..][..self.len as usize]
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Value {}

impl PartialEq<[u8]> for Value {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value(\"{}\")", self.escape_ascii())
    }
}
