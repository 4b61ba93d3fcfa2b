//! A file system with its cache, resolved from both ends.

use std::convert::Infallible;

use backpath::{
    Attributes, Counts, Credentials, Errno, ForwardResolver, MemoryFileSystem, Operation, Options, PathCache, Query,
    ResolveError, Resolver,
};

/// What a path leads to, with its canonical form, or why it does not.
pub type Answer = Result<(Attributes, Vec<u8>), Errno>;

pub struct Scene {
    pub files: MemoryFileSystem,
    pub cache: PathCache<Attributes>,
}

impl Scene {
    pub fn new(options: Options) -> Self {
        Self { files: MemoryFileSystem::new(), cache: PathCache::new(options) }
    }

    pub fn act(&self, operation: &Operation<'_>) -> Result<(), Errno> {
        self.files.act(operation, &Credentials::root(), &self.cache)
    }

    /// The operations in turn, all of which have to succeed.
    pub fn with(self, operations: &[Operation<'_>]) -> Self {
        for operation in operations {
            self.act(operation).unwrap_or_else(|errno| panic!("{operation:?}: {errno}"));
        }
        self
    }

    pub fn backwards(&self, path: &[u8], credentials: &Credentials, follows: bool) -> (Answer, Counts) {
        let mut counts = Counts::default();
        let query = if follows { Query::new(path) } else { Query::new(path).without_following() };
        let principal = self.cache.principal(credentials);
        let found = Resolver::new(&self.cache).resolve(&query, &principal, &self.files, &mut counts);
        (found.map(|found| (found.entry, found.path.into_owned())).map_err(refusal), counts)
    }

    pub fn forwards(&self, path: &[u8], credentials: &Credentials, follows: bool) -> Answer {
        ForwardResolver::new(&self.files).resolve(path, credentials, follows, &mut Counts::default()).map_err(refusal)
    }

    /// Both answers, which have to be the same, and what the one from the end cost.
    pub fn resolve(&self, path: &str, credentials: &Credentials) -> (Answer, Counts) {
        let (answer, counts) = self.backwards(path.as_bytes(), credentials, true);
        assert_eq!(answer, self.forwards(path.as_bytes(), credentials, true), "{path}");
        (answer, counts)
    }
}

fn refusal(error: ResolveError<Infallible>) -> Errno {
    match error {
        ResolveError::Refused(errno) => errno,
        ResolveError::Store(never) => match never {},
    }
}

pub fn user(uid: u32) -> Credentials {
    Credentials::new(uid, uid, &[])
}
