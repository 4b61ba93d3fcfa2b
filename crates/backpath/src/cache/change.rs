//! Changes of the file system, as the cache has to hear of them.

use std::ops::Deref;
use std::sync::Arc;

use super::PathCache;
use super::node::{Key, inode_bytes};
use crate::attributes::Entry;
use crate::epochs::Scope;
use crate::errno::Errno;
use crate::path::{canonical, hash};

/// One thing that changes. Paths are canonical.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change<'a> {
    /// A name that is not a directory, before or after: created, removed, replaced, renamed from or to, or its
    /// attributes changed while it has one name. Also a new directory.
    Entry(&'a [u8]),
    /// A directory that is removed, renamed from or to, mounted over or unmounted: everything below its path.
    Subtree(&'a [u8]),
    /// A directory's owner, group, mode or list: who may pass it, and its own attributes.
    Permission(&'a [u8]),
    /// The attributes of an object that has several names, or had before the change.
    Inode(u64),
}

/// A change under way. It ends when it is dropped, also by a panic.
pub struct OpenChange<'a, E: Entry + Send + Sync + 'static> {
    cache: Held<'a, E>,
    subtrees: Vec<(Scope, u64)>,
    leaves: Vec<u64>,
    inodes: usize,
}

/// The cache of a change: borrowed, or held for as long as the change lasts.
enum Held<'a, E: Entry + Send + Sync + 'static> {
    Borrowed(&'a PathCache<E>),
    Shared(Arc<PathCache<E>>),
}

impl<E: Entry + Send + Sync + 'static> Deref for Held<'_, E> {
    type Target = PathCache<E>;

    fn deref(&self) -> &PathCache<E> {
        match self {
            Self::Borrowed(cache) => cache,
            Self::Shared(cache) => cache,
        }
    }
}

impl<E: Entry + Send + Sync + 'static> PathCache<E> {
    /// Does `act`, which makes these changes in the file system, and has the cache forget what they concern, in time
    /// that does not depend on how much is cached.
    ///
    /// While `act` runs, look-ups of what changes are misses and nothing of it is kept: whoever looks up meanwhile asks the
    /// file system. When `change` has returned, no look-up is answered by what was there before. Name every change of the
    /// file system before it happens: what the cache is not told it does not know.
    ///
    /// # Errors
    /// `EINVAL` for a path that is not canonical; `act` is not done then.
    pub fn change<T>(&self, changes: &[Change<'_>], act: impl FnOnce() -> T) -> Result<T, Errno> {
        let _open = self.begin_change(changes)?;
        Ok(act())
    }

    /// The same in two steps: the change lasts until the result is dropped.
    ///
    /// # Errors
    /// `EINVAL` for a path that is not canonical.
    pub fn begin_change(&self, changes: &[Change<'_>]) -> Result<OpenChange<'_, E>, Errno> {
        OpenChange::new(Held::Borrowed(self), changes)
    }

    /// The same for a change that outlives the caller's borrow.
    ///
    /// # Errors
    /// `EINVAL` for a path that is not canonical.
    pub fn begin_shared_change(self: &Arc<Self>, changes: &[Change<'_>]) -> Result<OpenChange<'static, E>, Errno> {
        OpenChange::new(Held::Shared(Arc::clone(self)), changes)
    }

    pub(super) fn hash(&self, path: &[u8]) -> u64 {
        hash(self.seed, path)
    }
}

impl<'a, E: Entry + Send + Sync + 'static> OpenChange<'a, E> {
    /// All paths are checked before anything begins: what is dropped ends what it began.
    fn new(cache: Held<'a, E>, changes: &[Change<'_>]) -> Result<Self, Errno> {
        let (mut subtrees, mut names, mut inodes) = (Vec::new(), Vec::new(), 0);
        for change in changes {
            match *change {
                Change::Entry(path) => names.push(Name::Path(checked(path)?)),
                Change::Subtree(path) => subtrees.push((Scope::Structure, cache.hash(checked(path)?))),
                Change::Permission(path) => {
                    let path = checked(path)?;
                    subtrees.push((Scope::Permission, cache.hash(path)));
                    names.push(Name::Path(path));
                }
                Change::Inode(inode) => {
                    names.push(Name::Inode(inode));
                    inodes += 1;
                }
            }
        }
        let leaves = names.iter().map(|name| name.hash(&cache)).collect();
        let open = Self { cache, subtrees, leaves, inodes };
        open.begin(&names);
        Ok(open)
    }

    /// First nothing more may be kept, then what is kept goes.
    fn begin(&self, names: &[Name<'_>]) {
        self.leaves.iter().for_each(|&hash| self.cache.leaves.begin(hash));
        (0..self.inodes).for_each(|_| self.cache.inodes.begin(0));
        self.cache.subtrees.begin(&self.subtrees);
        let guard = crossbeam_epoch::pin();
        for (name, &hash) in names.iter().zip(&self.leaves) {
            self.cache.table.lock(hash).remove(|node| name.is(&node.key), &guard);
        }
    }
}

impl<E: Entry + Send + Sync + 'static> Drop for OpenChange<'_, E> {
    fn drop(&mut self) {
        self.cache.subtrees.end(&self.subtrees);
        (0..self.inodes).for_each(|_| self.cache.inodes.end(0));
        self.leaves.iter().for_each(|&hash| self.cache.leaves.end(hash));
    }
}

/// What leaves the table by a change.
enum Name<'a> {
    Path(&'a [u8]),
    Inode(u64),
}

impl Name<'_> {
    fn hash<E: Entry + Send + Sync + 'static>(&self, cache: &PathCache<E>) -> u64 {
        match self {
            Self::Path(path) => cache.hash(path),
            Self::Inode(inode) => cache.hash(&inode_bytes(*inode)),
        }
    }

    fn is(&self, key: &Key) -> bool {
        match self {
            Self::Path(path) => key.is_path(path),
            Self::Inode(inode) => key.is_inode(*inode),
        }
    }
}

fn checked(path: &[u8]) -> Result<&[u8], Errno> {
    canonical(path).ok_or(Errno::Invalid)
}
