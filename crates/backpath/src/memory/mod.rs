//! A plain file system in memory: users, groups, modes, lists, sticky directories, links of both kinds, mounts. It is
//! slow and obvious, for tests and for trying things out.

mod tree;

use std::convert::Infallible;

use parking_lot::RwLock;

use self::tree::Tree;
use crate::attributes::{Attributes, Kind};
use crate::cache::{Change, PathCache};
use crate::credentials::Credentials;
use crate::errno::{Errno, ResolveError};
use crate::operation::{Namespace, Operation, plan};
use crate::store::Store;

/// The file system. Its root belongs to root and has mode 755.
#[derive(Debug, Default)]
pub struct MemoryFileSystem(RwLock<Tree>);

impl MemoryFileSystem {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Does an operation as these credentials, and tells the cache what it changes.
    ///
    /// # Errors
    /// What Linux would say.
    pub fn act(
        &self,
        operation: &Operation<'_>,
        credentials: &Credentials,
        cache: &PathCache<Attributes>,
    ) -> Result<(), Errno> {
        let mut tree = self.0.write();
        let plan = plan(&*tree, operation, credentials).map_err(refusal)?;
        cache.change(&plan.changes(), || tree.apply(&plan.edit))
    }

    /// Mounts an empty file system over a directory; its root belongs to root and has this mode.
    ///
    /// # Errors
    /// `ENOTDIR` for anything else, and what the path is refused for.
    pub fn mount(&self, path: &[u8], mode: u16, cache: &PathCache<Attributes>) -> Result<(), Errno> {
        let mut tree = self.0.write();
        let (at, path) = tree.resolve(path, &Credentials::root(), true).map_err(refusal)?;
        if at.kind != Kind::Directory {
            return Err(Errno::NotADirectory);
        }
        let root = Attributes::new(tree.next_inode(), Kind::Directory, mode & 0o7777, 0, 0);
        cache.change(&[Change::Subtree(&path)], || tree.mount(at.inode, root))
    }

    /// Unmounts what is mounted there.
    ///
    /// # Errors
    /// `EINVAL` if nothing is, `EBUSY` if something is mounted inside, and what the path is refused for.
    pub fn unmount(&self, path: &[u8], cache: &PathCache<Attributes>) -> Result<(), Errno> {
        let mut tree = self.0.write();
        let (root, path) = tree.resolve(path, &Credentials::root(), true).map_err(refusal)?;
        if !tree.is_mount(root.inode) {
            return Err(Errno::Invalid);
        }
        if tree.has_mount_inside(root.inode) {
            return Err(Errno::Busy);
        }
        cache.change(&[Change::Subtree(&path)], || tree.unmount(root.inode))
    }
}

fn refusal(error: ResolveError<Infallible>) -> Errno {
    match error {
        ResolveError::Refused(errno) => errno,
        ResolveError::Store(never) => match never {},
    }
}

impl Store for MemoryFileSystem {
    type Entry = Attributes;
    type Error = Infallible;

    fn root(&self) -> Result<Attributes, Infallible> {
        Ok(self.0.read().root())
    }

    fn look_up(&self, directory: &Attributes, name: &[u8]) -> Result<Option<Attributes>, Infallible> {
        Ok(self.0.read().child(directory.inode, name))
    }
}
