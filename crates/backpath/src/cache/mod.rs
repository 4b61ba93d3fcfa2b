//! The cache of paths.

mod change;
mod node;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_epoch::Guard;
use parking_lot::RwLock;

use self::node::{Alias, Directories, Grants, Key, Node, Value, inode_bytes, is_shared};
use crate::attributes::{Entry, Kind};
use crate::credentials::{Credentials, Principal};
use crate::epochs::{Leaves, Scope, Subtrees, Version};
use crate::path::{PrefixHashes, canonical, prefixes_backwards};
use crate::table::{BucketGuard, Table};

pub use self::change::{Change, OpenChange};
pub use self::node::GRANTS_MAX;
pub(crate) use self::node::LinkStep;

/// The most credentials that a cache knows by number; beyond, it forgets them all and what they were granted.
const PRINCIPALS_MAX: usize = 1 << 16;
/// Cells for the versions of names: as many as look-ups that are ever under way at once, and some more.
const LEAF_CELLS: usize = 1 << 12;

/// Numbers caches, so that a principal of one is nobody in another.
static CACHES: AtomicU64 = AtomicU64::new(1);

/// How large a cache is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// About how many paths it keeps; then it evicts one for each that it keeps anew. At least 1.
    pub capacity: usize,
    /// How many principals an entry remembers as granted, up to [`GRANTS_MAX`]; by default 5, as in Song 2018.
    pub grants: usize,
    /// Cells for the epochs of subtrees. More cells mean fewer needless look-ups after a change elsewhere; each
    /// takes 24 bytes. By default one for each sixteen paths, from 256 to 65,536.
    pub epoch_cells: Option<usize>,
    /// What the hashes of paths and the choice of grants depend on. Take a random one where strangers choose the
    /// paths: colliding paths evict each other.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { capacity: 100_000, grants: 5, epoch_cells: None, seed: 0x5eed }
    }
}

/// What the cache knows of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup<E> {
    /// The object, which the principal may reach.
    Hit(E),
    /// There is nothing there, and the principal may know.
    Negative,
    /// The deepest prefix that is cached and that the principal may reach.
    Prefix {
        /// The bytes of the path that it is.
        length: usize,
        /// What is there; `None` for nothing, which settles the whole path.
        entry: Option<E>,
    },
    /// Nothing that helps.
    Miss,
}

/// Paths and what is at their end, found from the end.
///
/// ```
/// use backpath::{Attributes, Credentials, Kind, Lookup, Options, PathCache};
///
/// let cache = PathCache::new(Options { capacity: 1000, ..Options::default() });
/// let reader = cache.principal(&Credentials::new(1000, 1000, &[]));
/// let file = Attributes::new(7, Kind::File, 0o644, 0, 0);
///
/// let ticket = cache.ticket(b"/srv/archive/7"); // Before the file system is asked …
/// cache.insert(ticket, b"/srv/archive/7", Some(&file), &reader); // … and allowed the reader on the whole way.
/// assert_eq!(cache.lookup(b"/srv/archive/7", &reader), Lookup::Hit(file));
///
/// let stranger = cache.principal(&Credentials::new(1001, 1001, &[]));
/// assert_eq!(cache.lookup(b"/srv/archive/7", &stranger), Lookup::Miss);
/// ```
pub struct PathCache<E: Entry + Send + Sync + 'static> {
    id: u64,
    seed: u64,
    grants: usize,
    table: Table<Node<E>>,
    directories: Directories,
    subtrees: Subtrees,
    leaves: Leaves,
    inodes: Leaves,
    principals: RwLock<Principals>,
    random: AtomicU64,
}

#[derive(Default)]
struct Principals {
    known: HashMap<Arc<Credentials>, u32>,
    last: u32,
}

/// What has to be remembered from before a look-up in the file system, so that its result is not kept if
/// the file system changes meanwhile.
///
/// It is three numbers, any three: C keeps them as such.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Ticket {
    epoch: u64,
    version: Version,
    inodes: Version,
}

/// What was found of a path that is right now.
pub(crate) enum CachedResult<E> {
    /// Something, or nothing.
    Entry(Option<E>),
    /// Through symbolic links.
    Alias {
        /// What is at the end.
        entry: Option<E>,
        /// The path without links.
        canonical: Box<[u8]>,
    },
}

impl<E: Entry + Send + Sync + 'static> PathCache<E> {
    /// An empty cache.
    pub fn new(options: Options) -> Self {
        let cells = options.epoch_cells.unwrap_or((options.capacity / 16).clamp(1 << 8, 1 << 16));
        Self {
            id: CACHES.fetch_add(1, Ordering::Relaxed),
            seed: options.seed,
            grants: options.grants.min(GRANTS_MAX),
            table: Table::new(options.capacity),
            directories: Directories::new((options.capacity / 32).clamp(1 << 6, 1 << 16)),
            subtrees: Subtrees::new(cells.max(1)),
            leaves: Leaves::new(LEAF_CELLS),
            inodes: Leaves::new(1),
            principals: RwLock::default(),
            random: AtomicU64::new(options.seed),
        }
    }

    /// The number of these credentials. Equal credentials have the same number for as long as the cache knows them.
    pub fn principal(&self, credentials: &Credentials) -> Principal {
        let known = self.principals.read().known.get_key_value(credentials).map(|(key, &id)| (Arc::clone(key), id));
        let (credentials, id) = known.unwrap_or_else(|| self.principals.write().number(credentials));
        Principal { cache: self.id, id, credentials }
    }

    /// Looks up a canonical path from its end: the whole path first, then one component less, and so on, until
    /// something is cached that the principal is known to be allowed to reach. Takes no lock.
    ///
    /// It looks neither through symbolic links in the middle (unless the whole path was resolved before) nor at the modes of
    /// directories: [`Resolver`](crate::Resolver) does both. A path that is not canonical is a miss.
    pub fn lookup(&self, path: &[u8], principal: &Principal) -> Lookup<E> {
        let Some(path) = canonical(path) else { return Lookup::Miss };
        let guard = crossbeam_epoch::pin();
        let hashes = PrefixHashes::new(self.seed, path);
        match self.deepest(path, &hashes, principal, true, &mut 0, &guard) {
            None => Lookup::Miss,
            Some((length, found)) => {
                let (CachedResult::Entry(entry) | CachedResult::Alias { entry, .. }) = found;
                match entry {
                    _ if length < path.len() => Lookup::Prefix { length: length.max(1), entry },
                    Some(entry) => Lookup::Hit(entry),
                    None => Lookup::Negative,
                }
            }
        }
    }

    /// Take one before each look-up in the file system whose result is to be kept: before the first directory on the way
    /// is looked up, not only before the last.
    ///
    /// A path that is not canonical has a ticket too; [`insert`](Self::insert) refuses it.
    pub fn ticket(&self, path: &[u8]) -> Ticket {
        self.ticket_of(self.hash(canonical(path).unwrap_or(path)))
    }

    /// Keeps what the file system said of a canonical path since `ticket` was taken: an entry, or nothing. `grantee` was
    /// allowed to search every directory on the way since then. Returns whether it is kept: not if a change that concerns
    /// it came between.
    pub fn insert(&self, ticket: Ticket, path: &[u8], entry: Option<&E>, grantee: &Principal) -> bool {
        let Some(path) = canonical(path) else { return false };
        let hashes = PrefixHashes::new(self.seed, path);
        let guard = crossbeam_epoch::pin();
        self.keep(
            &HashedPath { path, hashes: &hashes },
            Value::of(entry),
            ticket,
            Some((grantee, ticket.epoch)),
            &guard,
        ) && entry.is_none_or(|entry| self.keep_shared(entry, ticket, &guard))
    }

    /// Paths and inodes that it keeps.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether it keeps nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entries that made room for others.
    pub fn evictions(&self) -> u64 {
        self.table.evictions()
    }

    /// The bytes that the cache takes on the heap while it is empty: its table and its epochs.
    pub fn fixed_bytes(&self) -> usize {
        self.table.table_bytes() + self.directories.bytes() + self.subtrees.bytes() + LEAF_CELLS * size_of::<u64>()
    }

    /// The bytes of one entry, without its path and what `E` allocates.
    pub const fn entry_bytes() -> usize {
        size_of::<Node<E>>() + size_of::<u64>()
    }
}

/// A path inside the crate and the hashes of its prefixes; the path can be shorter than what was hashed.
#[derive(Clone, Copy)]
pub(crate) struct HashedPath<'a> {
    pub path: &'a [u8],
    pub hashes: &'a PrefixHashes<'a>,
}

impl HashedPath<'_> {
    fn hash(&self) -> u64 {
        self.hashes.of(self.path.len())
    }

    /// The hashes of the path and of every directory on the way.
    fn prefixes(&self) -> impl Iterator<Item = u64> {
        prefixes_backwards(self.path).map(|length| self.hashes.of(length))
    }

    /// Those of the directories on the way only: they have to be searched to reach the path.
    fn directories(&self) -> impl Iterator<Item = u64> {
        self.prefixes().skip(1)
    }
}

/// The part of the resolver: paths are those inside the crate.
impl<E: Entry + Send + Sync + 'static> PathCache<E> {
    /// The epoch at which a walk begins; whoever it finds allowed on the way is allowed since then.
    pub(crate) fn epoch(&self) -> u64 {
        self.subtrees.now()
    }

    pub(crate) fn hashes<'a>(&self, path: &'a [u8]) -> PrefixHashes<'a> {
        PrefixHashes::new(self.seed, path)
    }

    pub(crate) fn ticket_of(&self, hash: u64) -> Ticket {
        let (version, inodes) = (self.leaves.version(hash), self.inodes.version(0));
        Ticket { epoch: self.subtrees.now(), version, inodes }
    }

    /// The deepest prefix that is cached and that the principal may reach; the root is for everybody.
    #[inline]
    pub(crate) fn deepest(
        &self,
        path: &[u8],
        hashes: &PrefixHashes<'_>,
        principal: &Principal,
        follows_aliases: bool,
        probes: &mut u32,
        guard: &Guard,
    ) -> Option<(usize, CachedResult<E>)> {
        prefixes_backwards(path).find_map(|length| {
            let place = HashedPath { path: &path[..length], hashes };
            let node = self.probe(&place, probes, guard)?;
            let is_granted = self.is_current(node, &place)? && self.is_granted(node, principal) || length == 0;
            match &node.value {
                Value::Alias(alias) if follows_aliases && length == path.len() => {
                    Some((length, self.through(alias, principal, probes, guard)?))
                }
                Value::Alias(_) => None,
                value if is_granted => Some((length, CachedResult::Entry(self.resolved(value, probes, guard)?))),
                _ => None,
            }
        })
    }

    /// What is cached of exactly this path, whoever asks.
    pub(crate) fn peek(&self, place: &HashedPath<'_>, probes: &mut u32, guard: &Guard) -> Option<Option<E>> {
        let node = self.probe(place, probes, guard)?;
        self.is_current(node, place)?;
        match &node.value {
            Value::Alias(_) => None,
            value => self.resolved(value, probes, guard),
        }
    }

    /// Remembers that the principal may search every directory on the way, as a walk that began at `since` found.
    pub(crate) fn grant(&self, place: &HashedPath<'_>, principal: &Principal, since: u64, guard: &Guard) {
        let bucket = self.table.lock(place.hash());
        let Some(node) = bucket.find(|node| node.key.is_path(place.path), guard) else { return };
        let now = self.subtrees.now();
        let Some(keeps_grants) = self.is_current(node, place) else { return };
        if self.is_granted(node, principal) && keeps_grants || !self.may_grant(place, since) {
            return;
        }
        let before = if keeps_grants { node.grants } else { Grants::default() };
        let value = node.value.clone();
        self.put(&bucket, place, value, before.with(principal.id, self.grants, self.random()), now, guard);
    }

    /// Keeps what a look-up found. `granted` is who may reach it, and since when.
    pub(crate) fn insert_at(
        &self,
        place: &HashedPath<'_>,
        entry: Option<&E>,
        ticket: Ticket,
        granted: (&Principal, u64),
        guard: &Guard,
    ) {
        self.keep(place, Value::of(entry), ticket, Some(granted), guard);
        if let Some(entry) = entry {
            self.keep_shared(entry, ticket, guard);
        }
    }

    /// Keeps that a path leads through these links to another. `ticket` is that of the path with the links.
    pub(crate) fn insert_alias(&self, literal: &[u8], hops: Vec<LinkStep>, canonical: &[u8], ticket: Ticket) {
        let hashes = self.hashes(literal);
        let alias = Alias { hops: hops.into(), canonical: canonical.into() };
        let place = HashedPath { path: literal, hashes: &hashes };
        self.keep(&place, Value::Alias(Box::new(alias)), ticket, None, &crossbeam_epoch::pin());
    }

    #[inline]
    fn probe<'g>(&self, place: &HashedPath<'_>, probes: &mut u32, guard: &'g Guard) -> Option<&'g Node<E>> {
        *probes += 1;
        self.table.find(place.hash(), |node| node.key.is_path(place.path), guard)
    }

    /// Whether the node's grants still hold; `None` if not even its value does. The epoch is loaded after the node was
    /// found, as [`Subtrees::now`] wants.
    #[inline]
    fn is_current(&self, node: &Node<E>, place: &HashedPath<'_>) -> Option<bool> {
        let now = self.subtrees.now();
        let stamp = node.stamp.load(Ordering::Acquire);
        if stamp >= now {
            return Some(true);
        }
        if !self.subtrees.is_current(Scope::Structure, stamp, place.prefixes()) {
            return None;
        }
        let holds = self.subtrees.is_current(Scope::Permission, stamp, place.directories());
        if holds {
            node.stamp.fetch_max(now, Ordering::AcqRel);
        }
        Some(holds)
    }

    #[inline]
    fn is_granted(&self, node: &Node<E>, principal: &Principal) -> bool {
        principal.cache == self.id && node.grants.contains(principal.id)
    }

    /// The entry that a value stands for; `None` if it is not known.
    fn resolved(&self, value: &Value<E>, probes: &mut u32, guard: &Guard) -> Option<Option<E>> {
        match value {
            Value::Present(entry) => Some(Some(entry.clone())),
            Value::Negative => Some(None),
            Value::HardLink(inode) => self.shared(*inode, probes, guard).map(Some),
            Value::Alias(_) => None,
        }
    }

    /// The object of an inode that has several names.
    fn shared(&self, inode: u64, probes: &mut u32, guard: &Guard) -> Option<E> {
        *probes += 1;
        let node = self.table.find(self.hash(&inode_bytes(inode)), |node| node.key.is_inode(inode), guard)?;
        match &node.value {
            Value::Present(entry) => Some(entry.clone()),
            _ => None,
        }
    }

    /// The end of an alias, if every link on the way still leads where it led and the principal may reach each link and
    /// the end.
    fn through(
        &self,
        alias: &Alias,
        principal: &Principal,
        probes: &mut u32,
        guard: &Guard,
    ) -> Option<CachedResult<E>> {
        for hop in &alias.hops {
            let link = self.granted(&hop.link, principal, probes, guard)??;
            if link.kind() != Kind::Symlink || link.target() != Some(&hop.target) {
                return None;
            }
        }
        let entry = self.granted(&alias.canonical, principal, probes, guard)?;
        Some(CachedResult::Alias { entry, canonical: alias.canonical.clone() })
    }

    /// What is at exactly this path, if the principal is known to be allowed to reach it.
    fn granted(&self, path: &[u8], principal: &Principal, probes: &mut u32, guard: &Guard) -> Option<Option<E>> {
        let hashes = self.hashes(path);
        let place = HashedPath { path, hashes: &hashes };
        let node = self.probe(&place, probes, guard)?;
        let is_granted = self.is_current(node, &place)? && self.is_granted(node, principal) || path.is_empty();
        is_granted.then(|| self.resolved(&node.value, probes, guard)).flatten()
    }

    /// Whether a grant that a walk found to be right since `since` may be kept: nothing on the way has changed or is
    /// changing.
    fn may_grant(&self, place: &HashedPath<'_>, since: u64) -> bool {
        self.subtrees.is_current(Scope::Structure, since, place.prefixes())
            && self.subtrees.is_current(Scope::Permission, since, place.directories())
            && !self.subtrees.is_open(place.prefixes())
    }

    fn keep(
        &self,
        place: &HashedPath<'_>,
        value: Value<E>,
        ticket: Ticket,
        granted: Option<(&Principal, u64)>,
        guard: &Guard,
    ) -> bool {
        let hash = place.hash();
        let bucket = self.table.lock(hash);
        if !self.leaves.is_current(hash, ticket.version) || self.subtrees.is_open(place.prefixes()) {
            return false;
        }
        // The directory that was asked may have been reached before the ticket was taken: what it says is no older.
        let reached = granted.map_or(ticket.epoch, |(_, since)| since.min(ticket.epoch));
        if !self.subtrees.is_current(Scope::Structure, reached, place.prefixes()) {
            return false;
        }
        let before = bucket.find(|node| node.key.is_path(place.path), guard);
        let kept = before.filter(|node| self.is_current(node, place) == Some(true)).map(|node| node.grants);
        let mut grants = kept.unwrap_or_default();
        let grantee = granted.filter(|&(principal, since)| principal.cache == self.id && self.may_grant(place, since));
        if let Some((principal, _)) = grantee {
            grants = grants.with(principal.id, self.grants, self.random());
        }
        self.put(&bucket, place, value, grants, reached, guard);
        true
    }

    /// Keeps an object with several names under its inode.
    fn keep_shared(&self, entry: &E, ticket: Ticket, guard: &Guard) -> bool {
        if !is_shared(entry) {
            return true;
        }
        let inode = entry.inode();
        let bucket = self.table.lock(self.hash(&inode_bytes(inode)));
        let is_current = self.inodes.is_current(0, ticket.inodes);
        if is_current {
            let (stamp, grants) = (AtomicU64::new(ticket.epoch), Grants::default());
            let node = Node { key: Key::Inode(inode), stamp, grants, value: Value::Present(entry.clone()) };
            bucket.insert(node, |node| node.key.is_inode(inode), guard);
        }
        is_current
    }

    fn put(
        &self,
        bucket: &BucketGuard<'_, Node<E>>,
        place: &HashedPath<'_>,
        value: Value<E>,
        grants: Grants,
        stamp: u64,
        guard: &Guard,
    ) {
        let directory = place.hashes.of(crate::path::parent(place.path).len());
        let key = self.directories.key(place.path, directory);
        let node = Node { key, stamp: AtomicU64::new(stamp), grants, value };
        bucket.insert(node, |node| node.key.is_path(place.path), guard);
    }

    fn random(&self) -> u64 {
        let number = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        crate::path::hash(number, &number.to_le_bytes())
    }
}

impl Principals {
    /// A number that nobody had before. When all are used up, nobody new is ever granted anything.
    fn number(&mut self, credentials: &Credentials) -> (Arc<Credentials>, u32) {
        if let Some((key, &id)) = self.known.get_key_value(credentials) {
            return (Arc::clone(key), id);
        }
        if self.known.len() >= PRINCIPALS_MAX {
            self.known.clear();
        }
        let key = Arc::new(credentials.clone());
        match self.last.checked_add(1) {
            None => return (key, 0),
            Some(next) => self.last = next,
        }
        self.known.insert(Arc::clone(&key), self.last);
        (key, self.last)
    }
}
