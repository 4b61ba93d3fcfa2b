//! Who asks.

use std::sync::Arc;

/// What a process may do beyond its user and groups, as far as it matters to paths (`capabilities(7)`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Capabilities {
    /// `CAP_DAC_OVERRIDE`: modes do not bind, but for execution of files that nobody may execute.
    pub dac_override: bool,
    /// `CAP_DAC_READ_SEARCH`: every file may be read, every directory read and searched.
    pub dac_read_search: bool,
    /// `CAP_FOWNER`: acts as the owner of every object, also in sticky directories.
    pub fowner: bool,
    /// `CAP_CHOWN`: owners and groups may be changed at will.
    pub chown: bool,
}

impl Capabilities {
    /// All of them: what root has.
    pub const ALL: Self = Self { dac_override: true, dac_read_search: true, fowner: true, chown: true };
}

/// User, groups and capabilities of whoever asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Credentials {
    uid: u32,
    gid: u32,
    groups: Box<[u32]>,
    capabilities: Capabilities,
}

impl Credentials {
    /// Those of a user without capabilities. The order of `groups`, and whether they repeat `gid`, does not matter.
    pub fn new(uid: u32, gid: u32, groups: &[u32]) -> Self {
        let mut groups = groups.to_vec();
        groups.push(gid);
        groups.sort_unstable();
        groups.dedup();
        Self { uid, gid, groups: groups.into(), capabilities: Capabilities::default() }
    }

    /// Those of root: user 0, group 0, all capabilities.
    pub fn root() -> Self {
        Self::new(0, 0, &[]).with_capabilities(Capabilities::ALL)
    }

    /// The same with these capabilities.
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// The user.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// The group of what the user creates.
    pub fn gid(&self) -> u32 {
        self.gid
    }

    /// Whether the user is in this group.
    pub fn has_group(&self, gid: u32) -> bool {
        self.groups.binary_search(&gid).is_ok()
    }

    /// The capabilities.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
}

/// Credentials that a cache knows: it compares a number instead of user, groups and capabilities.
///
/// Equal credentials have one number and different ones never share it: the cache compares them in full when
/// it gives the number ([`PathCache::principal`](crate::PathCache::principal)), so that no collision of hashes
/// can lend one user's grants to another. A principal of another cache is granted nothing.
#[derive(Debug, Clone)]
pub struct Principal {
    pub(crate) cache: u64,
    pub(crate) id: u32,
    pub(crate) credentials: Arc<Credentials>,
}

impl Principal {
    /// Whom it stands for.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }
}
