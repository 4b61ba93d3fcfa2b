//! The keys.

pub(super) const EPOCH: &[u8] = b"e";
pub(super) const INODE: &[u8] = b"i";

pub(super) fn inode(inode: u64) -> Vec<u8> {
    numbered(b'i', inode)
}

pub(super) fn directory(inode: u64) -> Vec<u8> {
    numbered(b'd', inode)
}

pub(super) fn data(inode: u64) -> Vec<u8> {
    numbered(b'f', inode)
}

pub(super) fn change(epoch: u64) -> Vec<u8> {
    numbered(b'c', epoch)
}

fn numbered(kind: u8, number: u64) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(&number.to_le_bytes());
    key
}
