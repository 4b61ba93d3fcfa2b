//! What files are called, as a process sees it and as the device has it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::chance::Chance;
use super::content::Content;

/// A file, whatever it is called.
#[derive(Debug)]
pub(super) struct Object {
    /// The number of files made before it.
    pub number: u64,
    pub content: Mutex<Content>,
}

type Names = BTreeMap<String, Arc<Object>>;

/// A change of names that was not synced.
#[derive(Debug)]
enum Change {
    Create(String, Arc<Object>),
    Rename(String, String, Arc<Object>),
    Remove(String, Arc<Object>),
}

/// The names of files.
#[derive(Debug, Default)]
pub(super) struct Folder {
    seen: Names,
    durable: Names,
    changes: Vec<Change>,
    made: u64,
}

impl Folder {
    /// A folder all of which is on the device.
    pub fn durable(files: BTreeMap<String, Vec<u8>>) -> Self {
        let mut folder = Self::default();
        for (name, bytes) in files {
            let object = folder.object(Content::durable(bytes));
            folder.seen.insert(name, object);
        }
        folder.durable = folder.seen.clone();
        folder
    }

    fn object(&mut self, content: Content) -> Arc<Object> {
        self.made += 1;
        Arc::new(Object { number: self.made, content: Mutex::new(content) })
    }

    pub fn names(&self) -> Vec<String> {
        self.seen.keys().cloned().collect()
    }

    pub fn get(&self, name: &str) -> io::Result<Arc<Object>> {
        self.seen.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub fn create(&mut self, name: &str) -> io::Result<Arc<Object>> {
        if self.seen.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let object = self.object(Content::default());
        self.seen.insert(name.to_owned(), object.clone());
        self.changes.push(Change::Create(name.to_owned(), object.clone()));
        Ok(object)
    }

    pub fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let object = self.get(from)?;
        let change = Change::Rename(from.to_owned(), to.to_owned(), object);
        change.apply(&mut self.seen);
        self.changes.push(change);
        Ok(())
    }

    pub fn remove(&mut self, name: &str) -> io::Result<()> {
        let change = Change::Remove(name.to_owned(), self.get(name)?);
        change.apply(&mut self.seen);
        self.changes.push(change);
        Ok(())
    }

    pub fn sync(&mut self) {
        self.changes.clear();
        self.durable.clone_from(&self.seen);
    }

    /// The files that the device has after a crash.
    pub fn survivor(&self, chance: &Chance) -> BTreeMap<String, Vec<u8>> {
        let mut names = self.durable.clone();
        let mut chance_of_names = chance.of(0);
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
        let image = |object: Arc<Object>| object.content.lock().survivor(&mut chance.of(object.number));
        names.into_iter().map(|(name, object)| (name, image(object))).collect()
    }
}

impl Change {
    /// Lets it happen, whether or not what came before it did.
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

fn remove_if_same(names: &mut Names, name: &str, object: &Arc<Object>) {
    if names.get(name).is_some_and(|named| Arc::ptr_eq(named, object)) {
        names.remove(name);
    }
}
