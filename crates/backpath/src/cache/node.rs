//! What the table holds for one path.

use std::sync::atomic::AtomicU64;

use crate::attributes::Entry;

/// The most principals that an entry can remember.
pub const GRANTS_MAX: usize = 8;

/// What is known of one path. All but the stamp is fixed: a change replaces the node.
pub(super) struct Node<E> {
    /// The path inside the crate, or the number of an inode.
    pub path: Box<[u8]>,
    /// The epoch at which value and grants were right.
    pub stamp: AtomicU64,
    pub grants: Grants,
    pub value: Value<E>,
}

/// Where a path leads.
#[derive(Clone)]
pub(super) enum Value<E> {
    /// To this object.
    Present(E),
    /// To an object with several names, which is kept once.
    HardLink(u64),
    /// Nowhere.
    Negative,
    /// Through symbolic links to another path.
    Alias(Box<Alias>),
}

/// A path with symbolic links on its way, and what it depends on: that each link still leads where it led.
#[derive(Clone)]
pub(super) struct Alias {
    pub hops: Box<[Hop]>,
    pub canonical: Box<[u8]>,
}

/// A symbolic link on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hop {
    /// Its canonical path.
    pub link: Box<[u8]>,
    /// Where it led.
    pub target: Box<[u8]>,
}

/// The *permission-granted list* of the seed: who is known to be allowed to search every directory on the way to
/// the entry (the entry itself is not searched to reach it). 0 is nobody.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Grants([u32; GRANTS_MAX]);

impl Grants {
    #[inline]
    pub fn contains(&self, principal: u32) -> bool {
        principal != 0 && self.0.contains(&principal)
    }

    /// The list with this principal too, in the place of a random one if `limit` are there.
    pub fn with(mut self, principal: u32, limit: usize, random: u64) -> Self {
        let places = &mut self.0[..limit];
        if limit != 0 && !places.contains(&principal) {
            let place = places.iter().position(|&there| there == 0);
            places[place.unwrap_or((random % limit as u64) as usize)] = principal;
        }
        self
    }
}

impl<E: Entry> Value<E> {
    /// The value for an entry: objects with several names are found through their inode.
    pub fn of(entry: Option<&E>) -> Self {
        match entry {
            None => Self::Negative,
            Some(entry) if is_shared(entry) => Self::HardLink(entry.inode()),
            Some(entry) => Self::Present(entry.clone()),
        }
    }
}

/// Whether an object may have several names.
pub(super) fn is_shared<E: Entry>(entry: &E) -> bool {
    entry.links() > 1 && entry.kind() != crate::Kind::Directory
}

/// The key of an inode, which no path equals: paths inside the crate are empty or begin with a slash.
pub(super) fn inode_key(inode: u64) -> [u8; 9] {
    let mut key = [0; 9];
    key[1..].copy_from_slice(&inode.to_le_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_list_replaces_one() {
        let five = (1..=5).fold(Grants::default(), |list, principal| list.with(principal, 5, 0));
        assert!((1..=5).all(|principal| five.contains(principal)));
        let six = five.with(6, 5, 7);
        assert!(six.contains(6) && !six.contains(3));
        assert_eq!((1..=6).filter(|&principal| six.contains(principal)).count(), 5);
        assert_eq!(five.with(3, 5, 0), five);
        assert!(!Grants::default().contains(0), "nobody is granted nothing");
        assert!(!Grants::default().with(1, 0, 0).contains(1), "a limit of 0 remembers nobody");
    }
}
