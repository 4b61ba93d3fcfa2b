//! Where a memtable's versions lie: an array that grows without moving what it holds, so that readers need no lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::entry::{Kind, Sequence};

/// The number of a node, counted from 1; 0 leads nowhere.
pub(super) type Link = u32;

/// The nodes that the first eight chunks hold together, as a power of two.
const FIRST_BITS: u32 = 6;
/// Chunks in which each doubling of the array comes, as a power of two: at most an eighth of it lies idle.
const PARTS_BITS: u32 = 3;
const CHUNKS: usize = ((33 - FIRST_BITS) << PARTS_BITS) as usize;

/// One version. The first version of a key stays in its bucket's chain and holds the key; later versions hang off it.
pub(super) struct Node {
    pub sequence: Sequence,
    /// The key, if this is its first version, and the value.
    payload: Box<[u8]>,
    /// The bits of the hash below those that number the bucket.
    pub tag: u32,
    /// For the first version of a key, the next key of the bucket; for others the version before.
    pub next: Link,
    /// For the first version of a key, its newest one.
    pub newest: AtomicU32,
    key_len: u16,
    pub kind: Kind,
    pub is_first: bool,
}

impl Node {
    /// The first version of `key`, in front of `next` in its bucket; `itself` is the number it will have.
    pub fn first(key: &[u8], value: &[u8], itself: Link, next: Link, tag: u32, sequence: Sequence, kind: Kind) -> Self {
        let mut payload = Vec::with_capacity(key.len() + value.len());
        payload.extend_from_slice(key);
        payload.extend_from_slice(value);
        let key_len = u16::try_from(key.len()).expect("a batch refuses longer keys");
        let newest = AtomicU32::new(itself);
        Self { sequence, payload: payload.into_boxed_slice(), tag, next, newest, key_len, kind, is_first: true }
    }

    /// A later version of a key, after `older`.
    pub fn later(value: &[u8], older: Link, sequence: Sequence, kind: Kind) -> Self {
        let payload = Box::from(value);
        Self { sequence, payload, tag: 0, next: older, newest: AtomicU32::new(0), key_len: 0, kind, is_first: false }
    }

    /// The key; empty but for the first version.
    pub fn key(&self) -> &[u8] {
        &self.payload[..usize::from(self.key_len)]
    }

    pub fn value(&self) -> &[u8] {
        &self.payload[usize::from(self.key_len)..]
    }

    /// What the payload takes from the allocator, which keeps 8 bytes beside it and rounds to 16.
    pub fn payload_bytes(&self) -> u64 {
        match self.payload.len() {
            0 => 0,
            len => (len as u64 + 8).next_multiple_of(16).max(32),
        }
    }
}

type Chunk = Box<[OnceLock<Node>]>;

/// The array of nodes. One thread at a time adds to it; any number read beside it.
pub(super) struct Nodes {
    chunks: Box<[OnceLock<Chunk>]>,
    len: AtomicU32,
}

impl Nodes {
    pub fn new() -> Self {
        Self { chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(), len: AtomicU32::new(0) }
    }

    pub fn len(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    /// The node that `link`, which is not 0, leads to.
    pub fn get(&self, link: Link) -> &Node {
        let place = Place::of(link);
        self.chunks[place.chunk]
            .get()
            .and_then(|chunk| chunk[place.offset].get())
            .expect("a link is published after its node")
    }

    /// Adds the node that the next free number, `link`, is for; returns the bytes taken from the allocator.
    pub fn push(&self, link: Link, node: Node) -> u64 {
        let place = Place::of(link);
        let mut bytes = node.payload_bytes();
        let chunk = self.chunks[place.chunk].get_or_init(|| {
            bytes += (place.chunk_len * size_of::<OnceLock<Node>>()) as u64;
            (0..place.chunk_len).map(|_| OnceLock::new()).collect()
        });
        assert!(chunk[place.offset].set(node).is_ok(), "two threads inserted into a memtable at the same time");
        self.len.store(link, Ordering::Release);
        bytes
    }

    /// What the table of chunks takes.
    pub fn table_bytes(&self) -> u64 {
        size_of_val(&*self.chunks) as u64
    }
}

/// Where a node lies.
struct Place {
    chunk: usize,
    chunk_len: usize,
    offset: usize,
}

impl Place {
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
    fn places_follow_one_another_to_the_last_link() {
        let mut expected = (0, 0);
        for link in 1..100_000 {
            let place = Place::of(link);
            assert_eq!((place.chunk, place.offset), expected, "{link}");
            expected = if place.offset + 1 == place.chunk_len {
                (place.chunk + 1, 0)
            } else {
                (place.chunk, place.offset + 1)
            };
        }
        assert!(Place::of(Link::MAX).chunk < CHUNKS);
    }

    #[test]
    fn a_node_takes_48_bytes() {
        assert_eq!(size_of::<OnceLock<Node>>(), 48);
    }
}
