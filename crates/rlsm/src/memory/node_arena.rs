//! The arena of a memtable's versions: an array that grows without moving its elements, so that readers need no lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::entry::{EntryKind, SequenceNumber};

/// The index of a node, from 1; 0 is none.
pub(super) type Link = u32;

/// The first eight chunks together hold 2 to the power of this many nodes.
const FIRST_BITS: u32 = 6;
/// Each doubling of the array comes in 2 to the power of this many chunks: at most an eighth of the array is unused.
const PARTS_BITS: u32 = 3;
const CHUNKS: usize = ((33 - FIRST_BITS) << PARTS_BITS) as usize;

/// A version. The first version of a key is in its bucket's chain and holds the key; later versions hang off it.
pub(super) struct Node {
    pub sequence: SequenceNumber,
    /// The value, after the key if this is its first version.
    payload: Box<[u8]>,
    /// The bits of the hash below those of the bucket's index.
    pub tag: u32,
    /// First version of a key: the next key of the bucket. Later version: the version before.
    pub next: Link,
    /// First version of a key: its newest version.
    pub newest: AtomicU32,
    key_len: u16,
    pub kind: EntryKind,
    pub is_first: bool,
}

impl Node {
    /// The first version of `key`, in front of `next` in its bucket; `itself` is its own index.
    pub fn first(
        key: &[u8],
        value: &[u8],
        itself: Link,
        next: Link,
        tag: u32,
        sequence: SequenceNumber,
        kind: EntryKind,
    ) -> Self {
        let mut payload = Vec::with_capacity(key.len() + value.len());
        payload.extend_from_slice(key);
        payload.extend_from_slice(value);
        let key_len = u16::try_from(key.len()).expect("`Batch` refuses longer keys");
        let newest = AtomicU32::new(itself);
        Self { sequence, payload: payload.into_boxed_slice(), tag, next, newest, key_len, kind, is_first: true }
    }

    /// A later version of a key, after `older`.
    pub fn later(value: &[u8], older: Link, sequence: SequenceNumber, kind: EntryKind) -> Self {
        let payload = Box::from(value);
        Self { sequence, payload, tag: 0, next: older, newest: AtomicU32::new(0), key_len: 0, kind, is_first: false }
    }

    /// The key; empty except for the first version.
    pub fn key(&self) -> &[u8] {
        &self.payload[..usize::from(self.key_len)]
    }

    pub fn value(&self) -> &[u8] {
        &self.payload[usize::from(self.key_len)..]
    }

    /// Memory of the payload: the allocator adds 8 bytes and rounds up to 16.
    pub fn payload_bytes(&self) -> u64 {
        match self.payload.len() {
            0 => 0,
            len => (len as u64 + 8).next_multiple_of(16).max(32),
        }
    }
}

type Chunk = Box<[OnceLock<Node>]>;

/// An arena of nodes. One thread at a time appends; any number of threads read concurrently.
pub(super) struct NodeArena {
    chunks: Box<[OnceLock<Chunk>]>,
    len: AtomicU32,
}

impl NodeArena {
    pub fn new() -> Self {
        Self { chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(), len: AtomicU32::new(0) }
    }

    pub fn len(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    /// The node at `link`, which is not 0.
    pub fn get(&self, link: Link) -> &Node {
        let place = NodePlace::of(link);
        self.chunks[place.chunk]
            .get()
            .and_then(|chunk| chunk[place.offset].get())
            .expect("a link is published after its node")
    }

    /// Appends a node at the next free index, `link`. Returns the memory that was allocated.
    pub fn push(&self, link: Link, node: Node) -> u64 {
        let place = NodePlace::of(link);
        let mut bytes = node.payload_bytes();
        let chunk = self.chunks[place.chunk].get_or_init(|| {
            bytes += (place.chunk_len * size_of::<OnceLock<Node>>()) as u64;
            (0..place.chunk_len).map(|_| OnceLock::new()).collect()
        });
        assert!(chunk[place.offset].set(node).is_ok(), "two threads appended a node at the same index");
        self.len.store(link, Ordering::Release);
        bytes
    }

    /// Memory of the table of chunks.
    pub fn table_bytes(&self) -> u64 {
        size_of_val(&*self.chunks) as u64
    }
}

/// The chunk and offset of a node.
struct NodePlace {
    chunk: usize,
    chunk_len: usize,
    offset: usize,
}

impl NodePlace {
    fn of(link: Link) -> Self {
        let number = u64::from(link) + (1 << FIRST_BITS) - 1;
        let top = number.ilog2();
        let chunk_bits = top - PARTS_BITS;
        let part = (number >> chunk_bits) as usize & ((1 << PARTS_BITS) - 1);
        Self {
            chunk: ((top - FIRST_BITS) << PARTS_BITS) as usize + part,
            chunk_len: 1 << chunk_bits,
            offset: (number & ((1 << chunk_bits) - 1)) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_contiguous_up_to_the_last_index() {
        let mut expected = (0, 0);
        for link in 1..100_000 {
            let place = NodePlace::of(link);
            assert_eq!((place.chunk, place.offset), expected, "{link}");
            expected = if place.offset + 1 == place.chunk_len {
                (place.chunk + 1, 0)
            } else {
                (place.chunk, place.offset + 1)
            };
        }
        assert!(NodePlace::of(Link::MAX).chunk < CHUNKS);
    }

    #[test]
    fn a_node_takes_48_bytes() {
        assert_eq!(size_of::<OnceLock<Node>>(), 48);
    }
}
