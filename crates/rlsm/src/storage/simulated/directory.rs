//! The directory entries: the current ones, and the durable ones.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::content::FileContent;
use super::rng::SeededRng;

/// A file, independent of its names.
#[derive(Debug)]
pub(super) struct Inode {
    /// The number of files created before it.
    pub number: u64,
    pub content: Mutex<FileContent>,
}

type Names = BTreeMap<String, Arc<Inode>>;

/// A change of names that is not synced.
#[derive(Debug)]
enum NameChange {
    Create(String, Arc<Inode>),
    Rename(String, String, Arc<Inode>),
    Remove(String, Arc<Inode>),
}

/// The directory entries.
#[derive(Debug, Default)]
pub(super) struct Directory {
    current: Names,
    durable: Names,
    changes: Vec<NameChange>,
    created: u64,
}

impl Directory {
    /// A directory that is durable.
    pub fn durable(files: BTreeMap<String, Vec<u8>>) -> Self {
        let mut directory = Self::default();
        for (name, bytes) in files {
            let object = directory.object(FileContent::durable(bytes));
            directory.current.insert(name, object);
        }
        directory.durable = directory.current.clone();
        directory
    }

    fn object(&mut self, content: FileContent) -> Arc<Inode> {
        self.created += 1;
        Arc::new(Inode { number: self.created, content: Mutex::new(content) })
    }

    pub fn names(&self) -> Vec<String> {
        self.current.keys().cloned().collect()
    }

    pub fn get(&self, name: &str) -> io::Result<Arc<Inode>> {
        self.current.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub fn create(&mut self, name: &str) -> io::Result<Arc<Inode>> {
        if self.current.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let object = self.object(FileContent::default());
        self.current.insert(name.to_owned(), object.clone());
        self.changes.push(NameChange::Create(name.to_owned(), object.clone()));
        Ok(object)
    }

    pub fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let object = self.get(from)?;
        let change = NameChange::Rename(from.to_owned(), to.to_owned(), object);
        change.apply(&mut self.current);
        self.changes.push(change);
        Ok(())
    }

    pub fn remove(&mut self, name: &str) -> io::Result<()> {
        let change = NameChange::Remove(name.to_owned(), self.get(name)?);
        change.apply(&mut self.current);
        self.changes.push(change);
        Ok(())
    }

    pub fn sync(&mut self) {
        self.changes.clear();
        self.durable.clone_from(&self.current);
    }

    /// The files on the device after a crash.
    pub fn after_crash(&self, rng: &SeededRng) -> BTreeMap<String, Vec<u8>> {
        let mut names = self.durable.clone();
        let mut chance_of_names = rng.of(0);
        let mode = chance_of_names.between(0, 2);
        for change in &self.changes {
            let happened = match mode {
                0 => false,
                1 => true,
                _ => chance_of_names.one_in(2),
            };
            if happened {
                change.apply(&mut names);
            }
        }
        let image = |object: Arc<Inode>| object.content.lock().after_crash(&mut rng.of(object.number));
        names.into_iter().map(|(name, object)| (name, image(object))).collect()
    }
}

impl NameChange {
    /// Applies the change, whether or not those before it happened.
    fn apply(&self, names: &mut Names) {
        match self {
            Self::Create(name, object) => {
                names.insert(name.clone(), object.clone());
            }
            Self::Rename(from, to, object) => {
                remove_if_same(names, from, object);
                names.insert(to.clone(), object.clone());
            }
            Self::Remove(name, object) => remove_if_same(names, name, object),
        }
    }
}

fn remove_if_same(names: &mut Names, name: &str, object: &Arc<Inode>) {
    if names.get(name).is_some_and(|named| Arc::ptr_eq(named, object)) {
        names.remove(name);
    }
}
