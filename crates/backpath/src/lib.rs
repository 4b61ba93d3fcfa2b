//! Looks a path up from its end.
//!
//! Who resolves `/a/b/c/d` from the front pays for every component, also when the last one is cached: a probe of a hash
//! table in the kernel, a *round trip* in a metadata service over a key-value store. [`PathCache`] keys its entries by the
//! full path: a warm path costs one probe at any depth, a colder one begins at its deepest cached prefix. A small list of
//! those who were granted access keeps permissions right, and epochs of subtrees end what a change made wrong, however
//! much lies below.
//!
//! | what | for whom |
//! | --- | --- |
//! | [`PathCache`] | who walks paths already and wants the cache alone |
//! | [`Resolver`] | who has a slow look-up of one name ([`Store`], [`AsyncStore`]) and wants paths resolved as Linux does |
//! | [`ForwardResolver`] | who wants the walk from the front, to compare or to check |
//! | [`MemoryFileSystem`] | who wants something to try it on |
//!
//! ```
//! use backpath::{Counts, Credentials, MemoryFileSystem, Operation, Options, PathCache, Query, Resolver};
//!
//! let cache = PathCache::new(Options::default());
//! let files = MemoryFileSystem::new();
//! let root = Credentials::root();
//! files.act(&Operation::MakeDirectory(b"/srv", 0o755), &root, &cache)?;
//! files.act(&Operation::Create(b"/srv/data", 0o644), &root, &cache)?;
//!
//! let user = cache.principal(&Credentials::new(1000, 1000, &[]));
//! let resolve = |counts: &mut Counts| {
//!     Resolver::new(&cache).resolve(&Query::new(b"/srv/data"), &user, &files, counts).map(|found| found.entry.mode)
//! };
//! let (mut cold, mut warm) = (Counts::default(), Counts::default());
//! assert_eq!(resolve(&mut cold), Ok(0o644));
//! assert_eq!(resolve(&mut warm), Ok(0o644));
//! assert_eq!((cold.lookups, warm.lookups, warm.probes), (3, 0, 1)); // The root, two names; then nothing.
//!
//! files.act(&Operation::ChangeMode(b"/srv", 0o700), &root, &cache)?;
//! assert_eq!(resolve(&mut warm).unwrap_err().errno(), Some(backpath::Errno::AccessDenied));
//! # Ok::<(), backpath::Errno>(())
//! ```
//!
//! # Source
//! N. Y. Song, *Efficient Data Management Schemes for High-performance Storage Devices*, doctoral thesis, Seoul National
//! University, 2018, sections 2.3.2, 3.2 and 4.2: full-path hashing, backward finding, the permission-granted list.
//! Where this crate differs: grants are for credentials (user, groups, capabilities) instead of users; a change of a
//! subtree takes a new epoch instead of a walk over it; prefixes are hashed in one pass; `..` is resolved on the way,
//! since behind a symbolic link it is not what the text of the path says.

mod attributes;
// Rust has no use for it, but the library for C must export its functions.
#[doc(hidden)]
pub mod c;
mod cache;
mod credentials;
mod epochs;
mod errno;
mod forward;
#[cfg(feature = "fuse")]
pub mod fuse;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod memory;
pub mod metadata;
mod operation;
mod path;
mod resolver;
mod store;
mod table;

pub use attributes::{Access, Acl, AclEntry, Attributes, Entry, Kind, STICKY, Tag};
pub use cache::{Change, GRANTS_MAX, Lookup, OpenChange, Options, PathCache, Ticket};
pub use credentials::{Capabilities, Credentials, Principal};
pub use errno::{Errno, ResolveError};
pub use forward::{ComponentCache, ForwardResolver};
pub use memory::MemoryFileSystem;
pub use operation::{Edit, Namespace, Operation, Plan, plan};
pub use path::{NAME_MAX, PATH_MAX};
pub use resolver::{Counts, LINKS_MAX, Query, Resolved, Resolver};
pub use store::{AsyncStore, Store};
