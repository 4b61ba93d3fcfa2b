//! Resolution from the front, one component after the other, as Linux does it: the reference that the walk from the end is
//! tested against and compared with.

use crossbeam_epoch::Guard;

use crate::attributes::{Entry, Kind};
use crate::credentials::Credentials;
use crate::errno::{Errno, ResolveError};
use crate::path::{Component, Components, NAME_MAX, hash};
use crate::resolver::{Counts, LINKS_MAX};
use crate::store::Store;
use crate::table::Table;

/// A cache of components, keyed by parent and name as Linux' dentries are; it has the table of
/// [`PathCache`](crate::PathCache), so that the two are compared on equal terms.
///
/// It is for trees that do not change while it lives: [`forget`](Self::forget) takes one name out, and nothing guards a
/// look-up that is under way.
pub struct ComponentCache<E> {
    seed: u64,
    table: Table<Dentry<E>>,
}

struct Dentry<E> {
    parent: u64,
    name: Box<[u8]>,
    entry: Option<E>,
}

impl<E: Entry + Send + Sync + 'static> ComponentCache<E> {
    /// An empty cache for about so many components.
    pub fn new(capacity: usize) -> Self {
        Self { seed: 0x5eed, table: Table::new(capacity) }
    }

    /// Takes a name out.
    pub fn forget(&self, directory: u64, name: &[u8]) {
        let bucket = self.table.lock(self.hash(directory, name));
        bucket.remove(|dentry| dentry.is(directory, name), &crossbeam_epoch::pin());
    }

    /// Components that it keeps.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether it keeps nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn hash(&self, directory: u64, name: &[u8]) -> u64 {
        hash(self.seed ^ directory.wrapping_mul(0x9e37_79b9_7f4a_7c15), name)
    }

    fn find(&self, directory: u64, name: &[u8], guard: &Guard) -> Option<Option<E>> {
        let found = self.table.find(self.hash(directory, name), |dentry| dentry.is(directory, name), guard);
        found.map(|dentry| dentry.entry.clone())
    }

    fn insert(&self, directory: u64, name: &[u8], entry: Option<E>) {
        let dentry = Dentry { parent: directory, name: name.into(), entry };
        let bucket = self.table.lock(self.hash(directory, name));
        bucket.insert(dentry, |dentry| dentry.is(directory, name), &crossbeam_epoch::pin());
    }
}

impl<E> Dentry<E> {
    fn is(&self, directory: u64, name: &[u8]) -> bool {
        self.parent == directory && *self.name == *name
    }
}

/// A resolver that walks from the front.
pub struct ForwardResolver<'a, S: Store> {
    store: &'a S,
    cache: Option<&'a ComponentCache<S::Entry>>,
}

/// A directory on the way, or what the path leads to.
struct Position<E> {
    entry: E,
    /// The directories above, the root first.
    above: Vec<E>,
    path: Vec<u8>,
}

impl<'a, S: Store> ForwardResolver<'a, S> {
    /// Asks the store for every component.
    pub fn new(store: &'a S) -> Self {
        Self { store, cache: None }
    }

    /// Asks the cache first.
    pub fn with_cache(store: &'a S, cache: &'a ComponentCache<S::Entry>) -> Self {
        Self { store, cache: Some(cache) }
    }

    /// What an absolute path leads to, and its canonical form.
    ///
    /// # Errors
    /// What Linux would say of the path, or the failure of the store.
    #[expect(clippy::type_complexity, reason = "a pair, once")]
    pub fn resolve(
        &self,
        path: &[u8],
        credentials: &Credentials,
        follows: bool,
        counts: &mut Counts,
    ) -> Result<(S::Entry, Vec<u8>), ResolveError<S::Error>> {
        let parsed = Components::parse(path)?;
        let root = self.root(counts)?;
        let mut here = Position { entry: root.clone(), above: Vec::new(), path: Vec::new() };
        let mut pending: Vec<Component> = parsed.steps.into_iter().rev().collect();
        let mut needs_directory = parsed.needs_directory;
        let mut links = 0;
        while let Some(component) = pending.pop() {
            search(&here.entry, credentials)?;
            let name = match component {
                Component::Here => continue,
                Component::Parent => {
                    here.leave();
                    continue;
                }
                Component::Name(name) => name,
            };
            let child = self.child(&here.entry, &name, counts)?;
            let is_last = pending.is_empty();
            if child.kind() != Kind::Symlink || is_last && !follows && !needs_directory {
                here.enter(child, &name);
                continue;
            }
            links += 1;
            if links > LINKS_MAX {
                return Err(Errno::TooManyLinks.into());
            }
            let target = Components::parse(child.target().unwrap_or_default())?;
            needs_directory |= is_last && target.needs_directory;
            pending.extend(target.steps.into_iter().rev());
            if target.is_absolute {
                here = Position { entry: root.clone(), above: Vec::new(), path: Vec::new() };
            }
        }
        if needs_directory && here.entry.kind() != Kind::Directory {
            return Err(Errno::NotADirectory.into());
        }
        if here.path.is_empty() {
            here.path.push(b'/');
        }
        Ok((here.entry, here.path))
    }

    fn root(&self, counts: &mut Counts) -> Result<S::Entry, ResolveError<S::Error>> {
        let fetch = || self.store.root().map_err(ResolveError::Store);
        self.cached(0, b"", counts, || fetch().map(Some))?.ok_or(ResolveError::Refused(Errno::NotFound))
    }

    fn child(
        &self,
        directory: &S::Entry,
        name: &[u8],
        counts: &mut Counts,
    ) -> Result<S::Entry, ResolveError<S::Error>> {
        if name.len() > NAME_MAX {
            return Err(Errno::NameTooLong.into());
        }
        let fetch = || self.store.look_up(directory, name).map_err(ResolveError::Store);
        self.cached(directory.inode(), name, counts, fetch)?.ok_or(ResolveError::Refused(Errno::NotFound))
    }

    fn cached(
        &self,
        directory: u64,
        name: &[u8],
        counts: &mut Counts,
        fetch: impl FnOnce() -> Result<Option<S::Entry>, ResolveError<S::Error>>,
    ) -> Result<Option<S::Entry>, ResolveError<S::Error>> {
        if let Some(cache) = self.cache {
            counts.probes += 1;
            if let Some(found) = cache.find(directory, name, &crossbeam_epoch::pin()) {
                return Ok(found);
            }
        }
        counts.lookups += 1;
        let entry = fetch()?;
        if let Some(cache) = self.cache {
            cache.insert(directory, name, entry.clone());
        }
        Ok(entry)
    }
}

impl<E: Entry> Position<E> {
    fn enter(&mut self, child: E, name: &[u8]) {
        self.above.push(std::mem::replace(&mut self.entry, child));
        self.path.push(b'/');
        self.path.extend_from_slice(name);
    }

    fn leave(&mut self) {
        if let Some(above) = self.above.pop() {
            self.entry = above;
            self.path.truncate(crate::path::parent(&self.path).len());
        }
    }
}

fn search<E: Entry>(directory: &E, credentials: &Credentials) -> Result<(), Errno> {
    match directory.kind() {
        Kind::Directory if directory.may_search(credentials) => Ok(()),
        Kind::Directory => Err(Errno::AccessDenied),
        Kind::Symlink | Kind::File => Err(Errno::NotADirectory),
    }
}
