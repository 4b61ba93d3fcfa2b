//! What the mount knows of a directory's objects: those that the kernel knows, and a cache of paths.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::RwLock;
use rustix::io::Errno;

use super::super::node_file_system::{FileType, Stat};
use super::super::nodes::Nodes;
use super::object::{Mounts, Object};
use crate::cache::{Change, Lookup, Options, PathCache, Ticket};
use crate::credentials::{Credentials, Principal};
use crate::path::{canonical, displayed, parent};

/// Both are of one mount.
pub(super) struct Known {
    pub nodes: RwLock<Nodes<Object>>,
    mounts: Mounts,
    cache: Option<Cached>,
}

/// All questions are asked as one principal: the kernel checks permissions.
struct Cached {
    paths: PathCache<Stat>,
    everybody: Principal,
}

/// A path whose answer may be kept, since before the question.
pub(super) struct Asking {
    path: Vec<u8>,
    ticket: Ticket,
}

impl Known {
    pub fn new(root: OwnedFd, cache: Option<Options>) -> Self {
        let cache = cache.map(|options| {
            let paths = PathCache::new(options);
            Cached { everybody: paths.principal(&Credentials::root()), paths }
        });
        let mounts = Mounts::default();
        Self { nodes: RwLock::new(Nodes::new(mounts.object(root, true))), mounts, cache }
    }

    /// An open file of an object that the kernel knows.
    pub fn object(&self, number: u64) -> Result<Arc<OwnedFd>, Errno> {
        let object = self.nodes.read().object(number).ok_or(Errno::STALE)?;
        object.open()
    }

    /// The kernel is told of this object, by this name; returns its generation.
    pub fn remember(&self, stat: &Stat, directory: u64, name: &[u8], file: OwnedFd) -> u64 {
        let object = self.mounts.object(file, stat.file_type == FileType::Directory);
        self.nodes.write().remember(stat.inode, directory, name, object)
    }

    /// Before an object loses a name: with the last one its handle ends, but who uses the object goes on.
    pub fn hold(&self, stat: &Stat, file: OwnedFd) {
        let is_directory = stat.file_type == FileType::Directory;
        if stat.links == 1 || is_directory {
            let file = Arc::new(file);
            if let Some(same) = self.mounts.by_handle(&file, is_directory) {
                self.nodes.write().reach(stat.inode, &same, Object::Open(file));
            }
        }
    }

    /// What the cache knows of a path: an object, or that there is nothing.
    pub fn cached(&self, path: Option<Vec<u8>>) -> Option<Result<Stat, Errno>> {
        let cached = self.cache.as_ref()?;
        match cached.paths.lookup(&path?, &cached.everybody) {
            Lookup::Hit(stat) => Some(Ok(stat)),
            Lookup::Negative | Lookup::Prefix { entry: None, .. } => Some(Err(Errno::NOENT)),
            Lookup::Prefix { .. } | Lookup::Miss => None,
        }
    }

    /// Begins a question whose answer is kept. `path` is asked for twice: it may change before the ticket is taken, and
    /// what changes it afterwards is noticed by the ticket.
    pub fn asking(&self, path: impl Fn(&Nodes<Object>) -> Option<Vec<u8>>) -> Option<Asking> {
        let cached = self.cache.as_ref()?;
        let before = path(&self.nodes.read())?;
        let ticket = cached.paths.ticket(&before);
        let same = path(&self.nodes.read()).is_some_and(|now| now == before);
        same.then_some(Asking { path: before, ticket })
    }

    /// Keeps the answer.
    pub fn keep(&self, asking: Option<Asking>, answer: Option<&Stat>) {
        if let (Some(cached), Some(Asking { path, ticket })) = (&self.cache, asking) {
            cached.paths.insert(ticket, &path, answer, &cached.everybody);
        }
    }

    /// Does `act`, which changes an object's attributes, under all its names.
    pub fn change_object<T>(
        &self,
        number: u64,
        others: &[Change<'_>],
        act: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        if self.cache.is_none() {
            return act();
        }
        let paths = self.nodes.read().paths(number);
        let changes = paths.iter().map(|path| Change::Entry(path)).chain([Change::Inode(number)]);
        self.change(changes.chain(others.iter().copied()), act)
    }

    /// Does `act`, which changes what has these names in their directories, and the directories' times.
    pub fn change_names<T>(
        &self,
        names: &[(u64, &[u8])],
        object: Option<&Stat>,
        act: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        if self.cache.is_none() {
            return act();
        }
        let nodes = self.nodes.read();
        let paths: Vec<Vec<u8>> = names.iter().filter_map(|(directory, name)| nodes.child(*directory, name)).collect();
        let objects = object.map_or(Vec::new(), |stat| nodes.paths(stat.inode));
        drop(nodes);
        let is_directory = object.is_some_and(|stat| stat.file_type == FileType::Directory);
        let of_path = |path| {
            let subtree = is_directory.then_some(Change::Subtree(path));
            [Change::Entry(path), Change::Entry(displayed(parent(path)))].into_iter().chain(subtree)
        };
        let of_object = objects.iter().map(|path| Change::Entry(path));
        let inode = object.map(|stat| Change::Inode(stat.inode));
        self.change(paths.iter().flat_map(|path| of_path(path)).chain(of_object).chain(inode), act)
    }

    /// A path that no cache keeps, because it is too long, changes without it.
    fn change<'a, T>(
        &self,
        changes: impl Iterator<Item = Change<'a>>,
        act: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let Some(cached) = &self.cache else { return act() };
        let kept = |change: &Change<'_>| match change {
            Change::Entry(path) | Change::Subtree(path) | Change::Permission(path) => canonical(path).is_some(),
            Change::Inode(_) => true,
        };
        let changes: Vec<Change<'_>> = changes.filter(kept).collect();
        cached.paths.change(&changes, act).map_err(|_| Errno::INVAL)?
    }
}
