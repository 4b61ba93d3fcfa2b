//! The slow side: whoever knows the directories.

use std::future::Future;

use crate::attributes::Entry;

/// A file system or metadata service that looks one name up in one directory.
pub trait Store {
    /// What it knows of an object.
    type Entry: Entry + Send + Sync + 'static;
    /// Why it cannot answer. A missing name is an answer.
    type Error;

    /// The root directory.
    fn root(&self) -> Result<Self::Entry, Self::Error>;

    /// What has this name in this directory; `None` if nothing has. Permissions are judged by the caller. The name is
    /// neither `.` nor `..`, and at most 255 bytes long.
    fn look_up(&self, directory: &Self::Entry, name: &[u8]) -> Result<Option<Self::Entry>, Self::Error>;
}

impl<S: Store + ?Sized> Store for &S {
    type Entry = S::Entry;
    type Error = S::Error;

    fn root(&self) -> Result<Self::Entry, Self::Error> {
        (**self).root()
    }

    fn look_up(&self, directory: &Self::Entry, name: &[u8]) -> Result<Option<Self::Entry>, Self::Error> {
        (**self).look_up(directory, name)
    }
}

impl<S: Store + ?Sized> Store for std::sync::Arc<S> {
    type Entry = S::Entry;
    type Error = S::Error;

    fn root(&self) -> Result<Self::Entry, Self::Error> {
        (**self).root()
    }

    fn look_up(&self, directory: &Self::Entry, name: &[u8]) -> Result<Option<Self::Entry>, Self::Error> {
        (**self).look_up(directory, name)
    }
}

/// The same for a store that is awaited; as in [`Store`].
pub trait AsyncStore {
    /// What it knows of an object.
    type Entry: Entry + Send + Sync + 'static;
    /// Why it cannot answer.
    type Error;

    /// The root directory.
    fn root(&self) -> impl Future<Output = Result<Self::Entry, Self::Error>> + Send;

    /// What has this name in this directory.
    fn look_up(
        &self,
        directory: &Self::Entry,
        name: &[u8],
    ) -> impl Future<Output = Result<Option<Self::Entry>, Self::Error>> + Send;
}
