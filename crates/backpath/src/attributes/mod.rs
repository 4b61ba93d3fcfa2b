//! What is at the end of a path, and who may use it.

mod acl;

use std::sync::Arc;

pub use self::acl::{Acl, AclEntry, Tag};
use crate::credentials::Credentials;

/// What an object is, as far as a path is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It has entries.
    Directory,
    /// It stands for another path.
    Symlink,
    /// Anything else: a path ends here.
    File,
}

/// What a cache has to know of an object.
///
/// An implementation decides who may search a directory. It has to decide by the entry and the credentials
/// alone: whatever else it read could change without the cache hearing of it.
pub trait Entry: Clone {
    /// What it is.
    fn kind(&self) -> Kind;
    /// Where a symbolic link leads; `None` for everything else.
    fn target(&self) -> Option<&[u8]>;
    /// Whether these credentials may look names up in this directory.
    fn may_search(&self, credentials: &Credentials) -> bool;
    /// The object's number, the same for all its names.
    fn inode(&self) -> u64;
    /// How many names the object has. An object with several is kept once, and found by each.
    fn links(&self) -> u32;
}

/// Permissions asked for: any of read, write and execute (search, of a directory).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access(u8);

impl Access {
    /// Read.
    pub const READ: Self = Self(4);
    /// Write.
    pub const WRITE: Self = Self(2);
    /// Execute a file, search a directory.
    pub const EXECUTE: Self = Self(1);

    /// The three bits of a mode; other bits are ignored.
    pub const fn from_bits(bits: u16) -> Self {
        Self((bits & 7) as u8)
    }

    /// Both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in it.
    pub const fn includes(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// What is in both.
    pub const fn masked(self, mask: Self) -> Self {
        Self(self.0 & mask.0)
    }

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The bit of a mode that lets only owners remove entries.
pub const STICKY: u16 = 0o1000;

/// The attributes of a POSIX object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// Its number.
    pub inode: u64,
    /// What it is.
    pub kind: Kind,
    /// Permissions: the lower twelve bits of `st_mode`.
    pub mode: u16,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its names.
    pub links: u32,
    /// Bytes.
    pub size: u64,
    /// When its content changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Where a symbolic link leads.
    pub target: Option<Arc<[u8]>>,
    /// Its access control list, if it has more than the mode says.
    pub acl: Option<Arc<Acl>>,
}

impl Attributes {
    /// Those of a new object of size 0.
    pub fn new(inode: u64, kind: Kind, mode: u16, uid: u32, gid: u32) -> Self {
        let (size, modified_ns) = (0, 0);
        Self { inode, kind, mode, uid, gid, links: 1, size, modified_ns, target: None, acl: None }
    }

    /// Whether these credentials have all of `access`, by the rules of Linux (`path_resolution(7)`, `acl(5)`,
    /// `capabilities(7)`).
    pub fn permits(&self, credentials: &Credentials, access: Access) -> bool {
        self.permits_by_mode(credentials, access) || self.permits_by_capability(credentials, access)
    }

    /// Exactly one of the classes owner, group and others decides, in this order; the list refines the last two.
    fn permits_by_mode(&self, credentials: &Credentials, access: Access) -> bool {
        if credentials.uid() == self.uid {
            return Access::from_bits(self.mode >> 6).includes(access);
        }
        if let Some(acl) = &self.acl {
            return acl.permits(self, credentials, access);
        }
        let shift = if credentials.has_group(self.gid) { 3 } else { 0 };
        Access::from_bits(self.mode >> shift).includes(access)
    }

    fn permits_by_capability(&self, credentials: &Credentials, access: Access) -> bool {
        let capabilities = credentials.capabilities();
        if self.kind == Kind::Directory {
            return capabilities.dac_override || capabilities.dac_read_search && !access.has(Access::WRITE);
        }
        let is_executable = self.mode & 0o111 != 0;
        capabilities.dac_override && (!access.has(Access::EXECUTE) || is_executable)
            || capabilities.dac_read_search && access == Access::READ
    }

    /// Whether these credentials may remove or rename an entry of this directory that is owned by `owner`: write
    /// and search permission, and in a sticky directory the ownership of either.
    pub fn permits_removal(&self, credentials: &Credentials, owner: u32) -> Result<(), crate::Errno> {
        if !self.permits(credentials, Access::WRITE.and(Access::EXECUTE)) {
            return Err(crate::Errno::AccessDenied);
        }
        let is_owner = [owner, self.uid].contains(&credentials.uid()) || credentials.capabilities().fowner;
        if self.mode & STICKY != 0 && !is_owner { Err(crate::Errno::NotPermitted) } else { Ok(()) }
    }
}

impl Entry for Attributes {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn target(&self) -> Option<&[u8]> {
        self.target.as_deref()
    }

    fn may_search(&self, credentials: &Credentials) -> bool {
        self.permits(credentials, Access::EXECUTE)
    }

    fn inode(&self) -> u64 {
        self.inode
    }

    fn links(&self) -> u32 {
        self.links
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::Capabilities;

    fn directory(mode: u16) -> Attributes {
        Attributes::new(1, Kind::Directory, mode, 1000, 100)
    }

    #[test]
    fn one_class_alone_decides() {
        let owner = Credentials::new(1000, 100, &[]);
        let member = Credentials::new(1, 1, &[100]);
        let other = Credentials::new(2, 2, &[]);
        assert!(!directory(0o077).may_search(&owner), "the owner's bits bind the owner, though others have more");
        assert!(!directory(0o707).may_search(&member));
        assert!(directory(0o010).may_search(&member));
        assert!(directory(0o001).may_search(&other));
        assert!(!directory(0o770).may_search(&other));
    }

    #[test]
    fn capabilities_open_directories_and_executable_files() {
        let search = Credentials::new(1, 1, &[])
            .with_capabilities(Capabilities { dac_read_search: true, ..Capabilities::default() });
        assert!(directory(0).permits(&search, Access::READ.and(Access::EXECUTE)));
        assert!(!directory(0).permits(&search, Access::WRITE));
        let file = |mode| Attributes::new(2, Kind::File, mode, 1000, 100);
        assert!(file(0).permits(&search, Access::READ));
        assert!(!file(0).permits(&Credentials::root(), Access::EXECUTE), "nobody may execute it");
        assert!(file(0o100).permits(&Credentials::root(), Access::EXECUTE));
        assert!(file(0).permits(&Credentials::root(), Access::READ.and(Access::WRITE)));
    }

    #[test]
    fn the_list_refines_the_group_and_the_mask_limits_it() {
        let entry = |tag, bits| AclEntry { tag, access: Access::from_bits(bits) };
        let list = |mask| {
            let entries = [
                entry(Tag::User(7), 5),
                entry(Tag::OwningGroup, 0),
                entry(Tag::Group(8), 5),
                entry(Tag::Mask, mask),
                entry(Tag::Other, 5),
            ];
            Attributes { acl: Some(Arc::new(Acl::new(&entries))), ..directory(0o700) }
        };
        let user = Credentials::new(7, 1, &[]);
        let group = Credentials::new(6, 1, &[8]);
        let owning = Credentials::new(6, 100, &[]);
        assert!(list(5).may_search(&user) && list(5).may_search(&group));
        assert!(!list(4).may_search(&user) && !list(4).may_search(&group), "the mask takes it away");
        assert!(!list(5).may_search(&owning), "who is in a listed group is no other");
        assert!(list(0).may_search(&Credentials::new(6, 1, &[])), "the mask does not bind others");
        assert!(list(5).may_search(&Credentials::new(6, 1, &[8, 100])), "one of several groups is enough");
    }

    #[test]
    fn sticky_directories_protect_other_peoples_entries() {
        let shared = directory(0o1777);
        let someone = Credentials::new(5, 5, &[]);
        assert_eq!(shared.permits_removal(&someone, 5), Ok(()));
        assert_eq!(shared.permits_removal(&someone, 6), Err(crate::Errno::NotPermitted));
        assert_eq!(shared.permits_removal(&Credentials::new(1000, 1, &[]), 6), Ok(()));
        assert_eq!(directory(0o1755).permits_removal(&someone, 5), Err(crate::Errno::AccessDenied));
        assert_eq!(directory(0o777).permits_removal(&someone, 6), Ok(()));
    }
}
