//! What the table holds for one path.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use crate::attributes::Entry;
use crate::path::parent;

/// The most principals that an entry can remember.
pub const GRANTS_MAX: usize = 6;

/// What is known of one path. All but the stamp is fixed: a change replaces the node.
pub(super) struct Node<E> {
    pub key: Key,
    /// The epoch at which value and grants were right.
    pub stamp: AtomicU64,
    pub grants: Grants,
    pub value: Value<E>,
}

/// What a node is found by.
#[derive(Debug, Clone)]
pub(super) enum Key {
    /// A path: that of the directory, which entries of a directory share, and the name in it. The root has no name.
    Path(Arc<[u8]>, Box<[u8]>),
    /// An object with several names.
    Inode(u64),
}

impl Key {
    /// Whether it is this path inside the crate.
    #[inline]
    pub fn is_path(&self, path: &[u8]) -> bool {
        let Self::Path(directory, name) = self else { return false };
        if name.is_empty() {
            return path.is_empty();
        }
        let Some(slash) = path.len().checked_sub(name.len() + 1) else { return false };
        path[slash] == b'/' && path[slash + 1..] == **name && path[..slash] == **directory
    }

    /// Whether it is this inode.
    pub fn is_inode(&self, inode: u64) -> bool {
        matches!(self, Self::Inode(own) if *own == inode)
    }
}

/// Paths of directories that were used last, so that the entries of a directory share one.
pub(super) struct Directories(Box<[Mutex<Arc<[u8]>>]>);

impl Directories {
    pub fn new(places: usize) -> Self {
        let none: Arc<[u8]> = Arc::from([].as_slice());
        Self((0..places.next_power_of_two()).map(|_| Mutex::new(Arc::clone(&none))).collect())
    }

    /// The key of a path inside the crate; `hash` is that of its directory.
    pub fn key(&self, path: &[u8], hash: u64) -> Key {
        let directory = parent(path);
        let name = path.get(directory.len() + 1..).unwrap_or_default().into();
        let mut place = self.0[hash as usize & (self.0.len() - 1)].lock();
        if **place != *directory {
            *place = directory.into();
        }
        Key::Path(Arc::clone(&place), name)
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
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
    pub hops: Box<[LinkStep]>,
    pub canonical: Box<[u8]>,
}

/// A symbolic link on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkStep {
    /// Its canonical path.
    pub link: Box<[u8]>,
    /// Where it led.
    pub target: Box<[u8]>,
}

/// The *permission-granted list* of Song 2018: who is known to be allowed to search every directory on the way to
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

/// What an inode is hashed as.
pub(super) fn inode_bytes(inode: u64) -> [u8; 8] {
    inode.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_equal_to_their_path_alone_and_share_their_directory() {
        let directories = Directories::new(4);
        let paths: [&[u8]; 6] = [b"", b"/a", b"/ab", b"/a/b", b"/a/c", b"/a/b/c"];
        let keys = paths.map(|path| directories.key(path, 1));
        for (index, key) in keys.iter().enumerate() {
            for (other, path) in paths.iter().enumerate() {
                assert_eq!(key.is_path(path), index == other, "{key:?} {path:?}");
            }
            assert!(!key.is_inode(0));
        }
        let (Key::Path(one, _), Key::Path(other, _)) = (&keys[3], &keys[4]) else { panic!("not paths") };
        assert!(Arc::ptr_eq(one, other));
        assert!(Key::Inode(7).is_inode(7) && !Key::Inode(7).is_inode(8));
        assert!(!Key::Inode(u64::from_le_bytes(*b"/abcdefg")).is_path(b"/abcdefg"));
    }

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
