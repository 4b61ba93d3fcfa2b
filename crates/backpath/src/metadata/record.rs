//! Attributes, names and changes as bytes. Numbers are least significant byte first.
//!
//! | bytes | attributes |
//! | --- | --- |
//! | 0 | the version, 1 |
//! | 1 | the kind: 0 a directory, 1 a symbolic link, 2 a file |
//! | 2 to 3 | mode |
//! | 4 to 11 | owner, group |
//! | 12 to 15 | names |
//! | 16 to 23 | size |
//! | 24 to 31 | modification, nanoseconds since 1970 |
//! | 32 to the end | where a symbolic link leads |
//!
//! A name is the inode, eight bytes, and the kind, one. A change is, for each thing that it concerns, a byte (0 an entry,
//! 1 a subtree, 2 a permission, 3 an inode), the length of what follows in four bytes, and the path or the inode. Access
//! control lists are not stored.

use crate::attributes::{Attributes, Kind};
use crate::operation::OwnedChange;

const VERSION: u8 = 1;
const FIXED: usize = 32;

/// The bytes of attributes.
pub(super) fn encode(attributes: &Attributes) -> Vec<u8> {
    let mut bytes = vec![VERSION, kind_byte(attributes.kind)];
    bytes.extend_from_slice(&attributes.mode.to_le_bytes());
    for number in [attributes.uid, attributes.gid, attributes.links] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&attributes.size.to_le_bytes());
    bytes.extend_from_slice(&attributes.modified_ns.to_le_bytes());
    bytes.extend_from_slice(attributes.target.as_deref().unwrap_or_default());
    bytes
}

/// The attributes of an inode; `None` if the bytes are none.
pub(super) fn decode(inode: u64, bytes: &[u8]) -> Option<Attributes> {
    let (fixed, target) = bytes.split_at_checked(FIXED)?;
    let kind = kind(fixed[1]).filter(|_| fixed[0] == VERSION)?;
    let word = |at: usize| fixed[at..at + 4].try_into().map(u32::from_le_bytes).ok();
    let long = |at: usize| fixed[at..at + 8].try_into().map(u64::from_le_bytes).ok();
    let target = match kind {
        Kind::Symlink => Some(target.into()),
        _ if target.is_empty() => None,
        _ => return None,
    };
    Some(Attributes {
        inode,
        kind,
        mode: u16::from_le_bytes([fixed[2], fixed[3]]),
        uid: word(4)?,
        gid: word(8)?,
        links: word(12)?,
        size: long(16)?,
        modified_ns: long(24)? as i64,
        target,
        acl: None,
    })
}

/// The bytes of a name.
pub(super) fn encode_name(inode: u64, kind: Kind) -> Vec<u8> {
    let mut bytes = inode.to_le_bytes().to_vec();
    bytes.push(kind_byte(kind));
    bytes
}

/// The inode and the kind behind a name.
pub(super) fn decode_name(bytes: &[u8]) -> Option<(u64, Kind)> {
    let (inode, rest) = bytes.split_first_chunk()?;
    let [byte] = rest else { return None };
    Some((u64::from_le_bytes(*inode), kind(*byte)?))
}

/// A number as a value.
pub(super) fn decode_number(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().map(u64::from_le_bytes).ok()
}

/// The bytes of a change.
pub(super) fn encode_changes(changes: &[OwnedChange]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for change in changes {
        let (kind, content): (u8, &[u8]) = match change {
            OwnedChange::Entry(path) => (0, path),
            OwnedChange::Subtree(path) => (1, path),
            OwnedChange::Permission(path) => (2, path),
            OwnedChange::Inode(inode) => (3, &inode.to_le_bytes()),
        };
        bytes.push(kind);
        bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
        bytes.extend_from_slice(content);
    }
    bytes
}

/// What a change concerned.
pub(super) fn decode_changes(mut bytes: &[u8]) -> Option<Vec<OwnedChange>> {
    let mut changes = Vec::new();
    while let Some((&kind, rest)) = bytes.split_first() {
        let (length, rest) = rest.split_first_chunk()?;
        let (content, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        changes.push(match kind {
            0 => OwnedChange::Entry(content.to_vec()),
            1 => OwnedChange::Subtree(content.to_vec()),
            2 => OwnedChange::Permission(content.to_vec()),
            3 => OwnedChange::Inode(decode_number(content)?),
            _ => return None,
        });
        bytes = rest;
    }
    Some(changes)
}

fn kind_byte(kind: Kind) -> u8 {
    match kind {
        Kind::Directory => 0,
        Kind::Symlink => 1,
        Kind::File => 2,
    }
}

fn kind(byte: u8) -> Option<Kind> {
    [Kind::Directory, Kind::Symlink, Kind::File].into_iter().nth(usize::from(byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn attributes_names_and_changes_come_back() {
        let file =
            Attributes { links: 3, size: 1 << 40, modified_ns: -5, ..Attributes::new(7, Kind::File, 0o4755, 1, 2) };
        let link =
            Attributes { target: Some(b"../x".as_slice().into()), ..Attributes::new(8, Kind::Symlink, 0o777, 0, 0) };
        for attributes in [file, link] {
            assert_eq!(decode(attributes.inode, &encode(&attributes)), Some(attributes));
        }
        assert_eq!(decode_name(&encode_name(9, Kind::Directory)), Some((9, Kind::Directory)));
        let changes = [OwnedChange::Entry(b"/a".to_vec()), OwnedChange::Subtree(b"/".to_vec()), OwnedChange::Inode(3)];
        assert_eq!(decode_changes(&encode_changes(&changes)).unwrap(), changes);
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(attributes) = decode(1, &bytes) {
                prop_assert_eq!(encode(&attributes), bytes.clone());
            }
            if let Some(changes) = decode_changes(&bytes) {
                prop_assert_eq!(encode_changes(&changes), bytes.clone());
            }
            let _ = decode_name(&bytes);
        }
    }
}
