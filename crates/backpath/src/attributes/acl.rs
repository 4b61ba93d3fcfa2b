//! Access control lists (POSIX.1e, `acl(5)`).

use super::{Access, Attributes};
use crate::credentials::Credentials;

/// Whom an entry of a list is for. The owner is judged by the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// A user by number.
    User(u32),
    /// The object's group.
    OwningGroup,
    /// A group by number.
    Group(u32),
    /// The most that users by number and all groups have.
    Mask,
    /// Everyone else.
    Other,
}

/// One entry of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AclEntry {
    /// For whom.
    pub tag: Tag,
    /// What they may do.
    pub access: Access,
}

/// A list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acl {
    entries: Box<[AclEntry]>,
}

impl Acl {
    /// A list of these entries.
    pub fn new(entries: &[AclEntry]) -> Self {
        Self { entries: entries.into() }
    }

    /// Whether the list of `object` grants all of `access` to credentials that are not the owner's.
    pub(crate) fn permits(&self, object: &Attributes, credentials: &Credentials, access: Access) -> bool {
        if let Some(user) = self.of(Tag::User(credentials.uid())) {
            return user.masked(self.mask()).includes(access);
        }
        let mut groups = self.entries.iter().filter(|entry| match entry.tag {
            Tag::OwningGroup => credentials.has_group(object.gid),
            Tag::Group(gid) => credentials.has_group(gid),
            _ => false,
        });
        let is_member = groups.clone().next().is_some();
        if is_member {
            return groups.any(|group| group.access.masked(self.mask()).includes(access));
        }
        self.of(Tag::Other).is_some_and(|other| other.includes(access))
    }

    fn mask(&self) -> Access {
        self.of(Tag::Mask).unwrap_or(Access::from_bits(7))
    }

    fn of(&self, tag: Tag) -> Option<Access> {
        self.entries.iter().find(|entry| entry.tag == tag).map(|entry| entry.access)
    }
}
