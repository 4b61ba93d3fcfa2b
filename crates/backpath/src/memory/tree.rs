//! The objects and their names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;

use crate::attributes::{Attributes, Kind};
use crate::credentials::Credentials;
use crate::errno::ResolveError;
use crate::forward::ForwardResolver;
use crate::operation::{Edit, Namespace};
use crate::resolver::Counts;
use crate::store::Store;

pub(super) const ROOT: u64 = 1;

/// All objects.
#[derive(Debug)]
pub(super) struct Tree {
    objects: HashMap<u64, Object>,
    /// The directories that are mounted over, and the roots that are there instead; and the way back.
    mounts: HashMap<u64, u64>,
    mount_points: HashMap<u64, u64>,
    last_inode: u64,
}

#[derive(Debug)]
struct Object {
    attributes: Attributes,
    /// The file system that it belongs to.
    device: u64,
    entries: BTreeMap<Box<[u8]>, u64>,
    names: BTreeSet<(u64, Box<[u8]>)>,
}

impl Default for Tree {
    fn default() -> Self {
        let attributes = Attributes::new(ROOT, Kind::Directory, 0o755, 0, 0);
        let root = Object { attributes, device: ROOT, entries: BTreeMap::new(), names: BTreeSet::new() };
        let objects = HashMap::from([(ROOT, root)]);
        Self { objects, mounts: HashMap::new(), mount_points: HashMap::new(), last_inode: ROOT }
    }
}

impl Store for Tree {
    type Entry = Attributes;
    type Error = Infallible;

    fn root(&self) -> Result<Attributes, Infallible> {
        Ok(self.root())
    }

    fn look_up(&self, directory: &Attributes, name: &[u8]) -> Result<Option<Attributes>, Infallible> {
        Ok(Tree::child(self, directory.inode, name))
    }
}

impl Namespace for Tree {
    type Error = Infallible;

    fn resolve(
        &self,
        path: &[u8],
        credentials: &Credentials,
        follows: bool,
    ) -> Result<(Attributes, Vec<u8>), ResolveError<Infallible>> {
        ForwardResolver::new(self).resolve(path, credentials, follows, &mut Counts::default())
    }

    fn child(&self, directory: &Attributes, name: &[u8]) -> Result<Option<Attributes>, Infallible> {
        Ok(Tree::child(self, directory.inode, name))
    }

    fn is_empty(&self, directory: &Attributes) -> Result<bool, Infallible> {
        Ok(self.objects[&directory.inode].entries.is_empty())
    }

    fn next_inode(&self) -> u64 {
        self.last_inode + 1
    }

    fn device(&self, object: &Attributes) -> u64 {
        self.objects[&object.inode].device
    }

    fn has_mount(&self, directory: &Attributes) -> bool {
        self.has_mount_inside(directory.inode) || self.is_mount(directory.inode)
    }
}

impl Tree {
    /// What is at `/`.
    pub fn root(&self) -> Attributes {
        self.objects[&self.visible(ROOT)].attributes.clone()
    }

    /// What has this name, through mounts.
    pub fn child(&self, directory: u64, name: &[u8]) -> Option<Attributes> {
        let child = self.objects.get(&directory)?.entries.get(name)?;
        Some(self.objects[&self.visible(*child)].attributes.clone())
    }

    /// What is seen where this object is: the root that is mounted over it.
    fn visible(&self, inode: u64) -> u64 {
        std::iter::successors(Some(inode), |inode| self.mounts.get(inode).copied()).last().unwrap_or(inode)
    }

    /// The directory that a directory is in, and its name there.
    fn position(&self, inode: u64) -> Option<(u64, Box<[u8]>)> {
        let covered = std::iter::successors(Some(inode), |inode| self.mount_points.get(inode).copied()).last()?;
        self.objects[&covered].names.first().cloned()
    }

    /// Whether `directory` is `below` or in it, mounts included.
    pub fn is_within(&self, directory: u64, below: u64) -> bool {
        let upwards = |inode: &u64| self.position(*inode).map(|(parent, _)| parent);
        std::iter::successors(Some(directory), upwards).any(|inode| inode == below)
    }

    /// Whether something is mounted inside the file system of this root.
    pub fn has_mount_inside(&self, root: u64) -> bool {
        self.mounts.keys().any(|&point| self.is_within(point, root))
    }

    /// Whether it is the root of something mounted.
    pub fn is_mount(&self, root: u64) -> bool {
        self.mount_points.contains_key(&root)
    }

    pub fn mount(&mut self, at: u64, root: Attributes) {
        let device = root.inode;
        let root = self.add(root, device);
        self.mounts.insert(at, root);
        self.mount_points.insert(root, at);
    }

    pub fn unmount(&mut self, root: u64) {
        if let Some(at) = self.mount_points.remove(&root) {
            self.mounts.remove(&at);
        }
    }

    /// Changes the tree. The edit was planned on this very tree.
    pub fn apply(&mut self, edit: &Edit) {
        match edit {
            Edit::Nothing => {}
            Edit::Create { parent, name, attributes } => {
                let device = self.objects[parent].device;
                let inode = self.add(attributes.clone(), device);
                self.enter(*parent, name, inode);
            }
            Edit::Link { parent, name, object } => self.enter(*parent, name, object.inode),
            Edit::Remove { parent, name, .. } => self.leave(*parent, name),
            Edit::Rename { from, to, object, .. } => {
                self.leave(to.0, &to.1);
                self.enter(to.0, &to.1, object.inode);
                self.leave(from.0, &from.1);
            }
            Edit::Set(attributes) => {
                if let Some(object) = self.objects.get_mut(&attributes.inode) {
                    object.attributes = attributes.clone();
                }
            }
        }
    }

    fn add(&mut self, attributes: Attributes, device: u64) -> u64 {
        let inode = attributes.inode;
        self.last_inode = inode;
        self.objects.insert(inode, Object { attributes, device, entries: BTreeMap::new(), names: BTreeSet::new() });
        inode
    }

    fn enter(&mut self, parent: u64, name: &[u8], inode: u64) {
        if let Some(directory) = self.objects.get_mut(&parent) {
            directory.entries.insert(name.into(), inode);
        }
        self.rename_object(inode, |names| names.insert((parent, name.into())));
    }

    fn leave(&mut self, parent: u64, name: &[u8]) {
        let removed = self.objects.get_mut(&parent).and_then(|directory| directory.entries.remove(name));
        if let Some(inode) = removed {
            self.rename_object(inode, |names| names.remove(&(parent, name.into())));
        }
    }

    fn rename_object(&mut self, inode: u64, change: impl FnOnce(&mut BTreeSet<(u64, Box<[u8]>)>) -> bool) {
        if let Some(object) = self.objects.get_mut(&inode) {
            change(&mut object.names);
            object.attributes.links = object.names.len() as u32;
        }
    }
}
