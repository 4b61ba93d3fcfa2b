//! What can be done to a file system, who may do it, and what a cache has to be told of it: the rules of Linux, for whoever
//! knows directories.

use std::sync::Arc;

use crate::attributes::Acl;
use crate::attributes::{Access, Attributes, Kind};
use crate::cache::Change;
use crate::credentials::Credentials;
use crate::errno::{Errno, ResolveError};
use crate::path::NAME_MAX;

/// An operation on absolute paths.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Operation<'a> {
    /// Create an empty file: path, mode.
    Create(&'a [u8], u16),
    /// Create a directory: path, mode.
    MakeDirectory(&'a [u8], u16),
    /// Create a symbolic link: target, path.
    Symlink(&'a [u8], &'a [u8]),
    /// Give an object a second name: its path, the new one.
    Link(&'a [u8], &'a [u8]),
    /// Remove a name that is not a directory.
    Unlink(&'a [u8]),
    /// Remove an empty directory.
    RemoveDirectory(&'a [u8]),
    /// Rename an object, over what has the name: its path, the new one.
    Rename(&'a [u8], &'a [u8]),
    /// Change the mode.
    ChangeMode(&'a [u8], u16),
    /// Change owner and group.
    ChangeOwner(&'a [u8], u32, u32),
    /// Change the access control list.
    ChangeAcl(&'a [u8], Option<Arc<Acl>>),
}

/// A file system on which operations are judged.
pub trait Namespace {
    /// Why it cannot answer.
    type Error;

    /// What an absolute path leads to, and its canonical form.
    fn resolve(
        &self,
        path: &[u8],
        credentials: &Credentials,
        follows: bool,
    ) -> Result<(Attributes, Vec<u8>), ResolveError<Self::Error>>;

    /// What has this name in this directory, whoever asks.
    fn child(&self, directory: &Attributes, name: &[u8]) -> Result<Option<Attributes>, Self::Error>;

    /// Whether a directory has no entries.
    fn is_empty(&self, directory: &Attributes) -> Result<bool, Self::Error>;

    /// The number for the next object.
    fn next_inode(&self) -> u64;

    /// Which of several mounted file systems an object belongs to.
    fn device(&self, _object: &Attributes) -> u64 {
        0
    }

    /// Whether a directory is a mount point, or has one below it: it then stays where it is.
    fn has_mount(&self, _directory: &Attributes) -> bool {
        false
    }
}

/// What an allowed operation does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edit {
    /// Nothing: the two names are one object's.
    Nothing,
    /// Adds an object under a name.
    Create {
        /// The directory's inode.
        parent: u64,
        /// The name in it.
        name: Box<[u8]>,
        /// The object.
        attributes: Attributes,
    },
    /// Adds a name for an object.
    Link {
        /// The directory's inode.
        parent: u64,
        /// The name in it.
        name: Box<[u8]>,
        /// The object.
        object: Attributes,
    },
    /// Removes a name, and with the last one the object.
    Remove {
        /// The directory's inode.
        parent: u64,
        /// The name in it.
        name: Box<[u8]>,
        /// The object.
        object: Attributes,
    },
    /// Moves a name.
    Rename {
        /// Directory and name before.
        from: (u64, Box<[u8]>),
        /// Directory and name after.
        to: (u64, Box<[u8]>),
        /// The object.
        object: Attributes,
        /// What had the name.
        replaced: Option<Attributes>,
    },
    /// Changes an object's attributes.
    Set(Attributes),
}

/// An operation that is allowed: what it does, and what changes by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What to do.
    pub edit: Edit,
    changes: Vec<OwnedChange>,
}

/// A [`Change`] that owns its path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum OwnedChange {
    Entry(Vec<u8>),
    Subtree(Vec<u8>),
    Permission(Vec<u8>),
    Inode(u64),
}

impl OwnedChange {
    pub fn borrow(&self) -> Change<'_> {
        match self {
            Self::Entry(path) => Change::Entry(path),
            Self::Subtree(path) => Change::Subtree(path),
            Self::Permission(path) => Change::Permission(path),
            Self::Inode(inode) => Change::Inode(*inode),
        }
    }
}

impl Plan {
    fn new(edit: Edit, changes: Vec<OwnedChange>) -> Self {
        Self { edit, changes }
    }

    /// What a cache has to be told.
    pub fn changes(&self) -> Vec<Change<'_>> {
        self.changes.iter().map(OwnedChange::borrow).collect()
    }

    pub(crate) fn owned_changes(&self) -> &[OwnedChange] {
        &self.changes
    }
}

/// The change of an object at this path: its one name, or what its names share.
fn object(attributes: &Attributes, path: Vec<u8>) -> Vec<OwnedChange> {
    let shared = (attributes.links > 1).then_some(OwnedChange::Inode(attributes.inode));
    std::iter::once(OwnedChange::Entry(path)).chain(shared).collect()
}

/// Where an operation takes place: a directory that may be searched, and a name in it.
struct DirectoryEntry {
    directory: Attributes,
    directory_path: Vec<u8>,
    name: Box<[u8]>,
    there: Option<Attributes>,
}

impl DirectoryEntry {
    fn find<N: Namespace>(names: &N, path: &[u8], credentials: &Credentials) -> Result<Self, ResolveError<N::Error>> {
        let end = path.iter().rposition(|&byte| byte == b'/').ok_or(Errno::Invalid)?;
        let name = &path[end + 1..];
        if matches!(name, b"" | b"." | b"..") || name.contains(&0) {
            return Err(Errno::Invalid.into());
        }
        // The dot has the directory searched.
        let (directory, directory_path) = names.resolve(&[&path[..end], b"/."].concat(), credentials, true)?;
        if name.len() > NAME_MAX {
            return Err(Errno::NameTooLong.into());
        }
        let there = names.child(&directory, name).map_err(ResolveError::Store)?;
        Ok(Self { directory, directory_path, name: name.into(), there })
    }

    fn path(&self) -> Vec<u8> {
        let above = if self.directory_path == b"/" { &[] } else { self.directory_path.as_slice() };
        [above, b"/", &self.name].concat()
    }

    fn place(&self) -> (u64, Box<[u8]>) {
        (self.directory.inode, self.name.clone())
    }

    fn may_add(&self, credentials: &Credentials) -> Result<(), Errno> {
        match self.there {
            Some(_) => Err(Errno::Exists),
            None if self.directory.permits(credentials, Access::WRITE.and(Access::EXECUTE)) => Ok(()),
            None => Err(Errno::AccessDenied),
        }
    }

    fn removable(&self, credentials: &Credentials) -> Result<&Attributes, Errno> {
        let there = self.there.as_ref().ok_or(Errno::NotFound)?;
        self.directory.permits_removal(credentials, there.uid)?;
        Ok(there)
    }
}

/// Judges an operation: what it would do, or why it may not be done.
///
/// # Errors
/// What Linux would say, or the failure of the file system.
pub fn plan<N: Namespace>(
    names: &N,
    operation: &Operation<'_>,
    credentials: &Credentials,
) -> Result<Plan, ResolveError<N::Error>> {
    match operation {
        Operation::Create(path, mode) => plan_new(names, path, Kind::File, *mode, None, credentials),
        Operation::MakeDirectory(path, mode) => plan_new(names, path, Kind::Directory, *mode, None, credentials),
        Operation::Symlink(target, path) => plan_new(names, path, Kind::Symlink, 0o777, Some(target), credentials),
        Operation::Link(from, to) => plan_link(names, from, to, credentials),
        Operation::Unlink(path) => plan_unlink(names, path, credentials),
        Operation::RemoveDirectory(path) => plan_remove_directory(names, path, credentials),
        Operation::Rename(from, to) => plan_rename(names, from, to, credentials),
        Operation::ChangeMode(path, mode) => {
            plan_set(names, path, credentials, |attributes| attributes.mode = mode & 0o7777)
        }
        Operation::ChangeOwner(path, uid, gid) => {
            if !credentials.capabilities().chown {
                return Err(Errno::NotPermitted.into());
            }
            plan_set(names, path, credentials, |attributes| (attributes.uid, attributes.gid) = (*uid, *gid))
        }
        Operation::ChangeAcl(path, acl) => {
            plan_set(names, path, credentials, |attributes| attributes.acl.clone_from(acl))
        }
    }
}

fn plan_new<N: Namespace>(
    names: &N,
    path: &[u8],
    kind: Kind,
    mode: u16,
    target: Option<&[u8]>,
    credentials: &Credentials,
) -> Result<Plan, ResolveError<N::Error>> {
    if target.is_some_and(<[u8]>::is_empty) {
        return Err(Errno::NotFound.into());
    }
    if target.is_some_and(|target| target.len() > crate::path::PATH_MAX) {
        return Err(Errno::NameTooLong.into());
    }
    let spot = DirectoryEntry::find(names, path, credentials)?;
    spot.may_add(credentials)?;
    let (uid, gid) = (credentials.uid(), credentials.gid());
    let attributes = Attributes {
        target: target.map(Into::into),
        size: target.map_or(0, |target| target.len() as u64),
        ..Attributes::new(names.next_inode(), kind, mode & 0o7777, uid, gid)
    };
    let (parent, name) = spot.place();
    Ok(Plan::new(Edit::Create { parent, name, attributes }, vec![OwnedChange::Entry(spot.path())]))
}

fn plan_link<N: Namespace>(
    names: &N,
    from: &[u8],
    to: &[u8],
    credentials: &Credentials,
) -> Result<Plan, ResolveError<N::Error>> {
    let source = DirectoryEntry::find(names, from, credentials)?;
    let spot = DirectoryEntry::find(names, to, credentials)?;
    let there = source.there.as_ref().ok_or(Errno::NotFound)?;
    spot.may_add(credentials)?;
    if there.kind == Kind::Directory {
        return Err(Errno::NotPermitted.into());
    }
    if names.device(there) != names.device(&spot.directory) {
        return Err(Errno::CrossDevice.into());
    }
    if there.links == u32::MAX {
        return Err(Errno::TooManyNames.into());
    }
    let changes = [object(there, source.path()), vec![OwnedChange::Entry(spot.path())]].concat();
    let (parent, name) = spot.place();
    Ok(Plan::new(Edit::Link { parent, name, object: there.clone() }, changes))
}

fn plan_unlink<N: Namespace>(
    names: &N,
    path: &[u8],
    credentials: &Credentials,
) -> Result<Plan, ResolveError<N::Error>> {
    let spot = DirectoryEntry::find(names, path, credentials)?;
    let there = spot.removable(credentials)?;
    if there.kind == Kind::Directory {
        return Err(Errno::IsADirectory.into());
    }
    let (parent, name) = spot.place();
    Ok(Plan::new(Edit::Remove { parent, name, object: there.clone() }, object(there, spot.path())))
}

fn plan_remove_directory<N: Namespace>(
    names: &N,
    path: &[u8],
    credentials: &Credentials,
) -> Result<Plan, ResolveError<N::Error>> {
    let spot = DirectoryEntry::find(names, path, credentials)?;
    let there = spot.removable(credentials)?;
    if there.kind != Kind::Directory {
        return Err(Errno::NotADirectory.into());
    }
    if names.has_mount(there) {
        return Err(Errno::Busy.into());
    }
    if !names.is_empty(there).map_err(ResolveError::Store)? {
        return Err(Errno::NotEmpty.into());
    }
    let (parent, name) = spot.place();
    let changes = vec![OwnedChange::Subtree(spot.path())];
    Ok(Plan::new(Edit::Remove { parent, name, object: there.clone() }, changes))
}

fn plan_rename<N: Namespace>(
    names: &N,
    from: &[u8],
    to: &[u8],
    credentials: &Credentials,
) -> Result<Plan, ResolveError<N::Error>> {
    let source = DirectoryEntry::find(names, from, credentials)?;
    let target = DirectoryEntry::find(names, to, credentials)?;
    let moved = source.removable(credentials)?;
    match &target.there {
        Some(there) => {
            target.removable(credentials)?;
            may_replace(names, moved, there)?;
        }
        None => target.may_add(credentials)?,
    }
    may_move(names, &source, moved, &target, credentials)?;
    if target.there.as_ref().is_some_and(|there| there.inode == moved.inode) {
        return Ok(Plan::new(Edit::Nothing, Vec::new()));
    }
    let (object_moved, replaced) = (moved.clone(), target.there.clone());
    let edit = Edit::Rename { from: source.place(), to: target.place(), object: object_moved, replaced };
    if moved.kind == Kind::Directory {
        let changes = vec![OwnedChange::Subtree(source.path()), OwnedChange::Subtree(target.path())];
        return Ok(Plan::new(edit, changes));
    }
    let mut changes = [object(moved, source.path()), vec![OwnedChange::Entry(target.path())]].concat();
    changes.extend(target.there.iter().flat_map(|replaced| object(replaced, target.path())));
    Ok(Plan::new(edit, changes))
}

fn may_replace<N: Namespace>(names: &N, moved: &Attributes, there: &Attributes) -> Result<(), ResolveError<N::Error>> {
    let is_same = there.inode == moved.inode;
    match (moved.kind == Kind::Directory, there.kind == Kind::Directory) {
        (true, false) => Err(Errno::NotADirectory.into()),
        (false, true) => Err(Errno::IsADirectory.into()),
        (true, true) if names.has_mount(there) => Err(Errno::Busy.into()),
        (true, true) if !is_same && !names.is_empty(there).map_err(ResolveError::Store)? => Err(Errno::NotEmpty.into()),
        _ => Ok(()),
    }
}

fn may_move<N: Namespace>(
    names: &N,
    source: &DirectoryEntry,
    moved: &Attributes,
    target: &DirectoryEntry,
    credentials: &Credentials,
) -> Result<(), Errno> {
    if names.device(moved) != names.device(&target.directory) {
        return Err(Errno::CrossDevice);
    }
    if moved.kind != Kind::Directory {
        return Ok(());
    }
    if names.has_mount(moved) {
        return Err(Errno::Busy);
    }
    let below = [&source.path(), b"/".as_slice()].concat();
    if [&target.path(), b"/".as_slice()].concat().starts_with(&below) && target.path() != source.path() {
        return Err(Errno::Invalid);
    }
    let moves_away = source.directory.inode != target.directory.inode;
    if moves_away && !moved.permits(credentials, Access::WRITE) { Err(Errno::AccessDenied) } else { Ok(()) }
}

fn plan_set<N: Namespace>(
    names: &N,
    path: &[u8],
    credentials: &Credentials,
    set: impl FnOnce(&mut Attributes),
) -> Result<Plan, ResolveError<N::Error>> {
    let (mut attributes, path) = names.resolve(path, credentials, true)?;
    if credentials.uid() != attributes.uid && !credentials.capabilities().fowner {
        return Err(Errno::NotPermitted.into());
    }
    set(&mut attributes);
    let changes = match attributes.kind {
        Kind::Directory => vec![OwnedChange::Permission(path)],
        Kind::Symlink | Kind::File => object(&attributes, path),
    };
    Ok(Plan::new(Edit::Set(attributes), changes))
}
