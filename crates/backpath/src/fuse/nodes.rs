//! The objects that the kernel knows by number, and the names that they are known by.

use std::collections::HashMap;
use std::sync::Arc;

pub(super) const ROOT: u64 = 1;
/// No path is longer: the walk to the root ends.
const PATH_BYTES_MAX: usize = 1 << 16;

/// What stands for an object.
pub(super) trait Identity {
    /// Whether `other`, which has the same number, is the same object.
    fn is(&self, other: &Self) -> bool;
}

/// Where numbers are never given again.
impl Identity for () {
    fn is(&self, _other: &Self) -> bool {
        true
    }
}

/// A number stands for one object from its first look-up until the kernel forgets it, or the object is gone and another has
/// the number.
#[derive(Debug)]
pub(super) struct Nodes<O> {
    by_number: HashMap<u64, Node<O>>,
    by_name: HashMap<Place, u64>,
    last_serial: u64,
}

#[derive(Debug)]
struct Node<O> {
    object: Arc<O>,
    /// Never given twice, unlike the number.
    serial: u64,
    places: Vec<Place>,
    lookups: u64,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    directory: u64,
    serial: u64,
    name: Box<[u8]>,
}

impl<O: Identity> Nodes<O> {
    pub fn new(root: O) -> Self {
        let node = Node { object: Arc::new(root), serial: 0, places: Vec::new(), lookups: 1 };
        Self { by_number: HashMap::from([(ROOT, node)]), by_name: HashMap::new(), last_serial: 0 }
    }

    pub fn object(&self, number: u64) -> Option<Arc<O>> {
        self.by_number.get(&number).map(|node| Arc::clone(&node.object))
    }

    pub fn serial(&self, number: u64) -> Option<u64> {
        self.by_number.get(&number).map(|node| node.serial)
    }

    /// A path that the number is known by.
    pub fn path(&self, number: u64) -> Option<Vec<u8>> {
        if number == ROOT {
            return Some(b"/".to_vec());
        }
        self.by_number.get(&number)?.places.iter().find_map(|place| self.path_of(place))
    }

    /// All paths that the number is known by.
    pub fn paths(&self, number: u64) -> Vec<Vec<u8>> {
        match self.by_number.get(&number) {
            _ if number == ROOT => vec![b"/".to_vec()],
            Some(node) => node.places.iter().filter_map(|place| self.path_of(place)).collect(),
            None => Vec::new(),
        }
    }

    /// The path of a name in a directory.
    pub fn child(&self, directory: u64, name: &[u8]) -> Option<Vec<u8>> {
        self.path_of(&self.place(directory, name)?)
    }

    /// The kernel is told this number for this name; returns the object's serial number.
    pub fn remember(&mut self, number: u64, directory: u64, name: &[u8], object: O) -> u64 {
        let known = self.by_number.get(&number).filter(|node| node.object.is(&object));
        let serial = known.map(|node| node.serial).unwrap_or_else(|| self.replace(number, object));
        self.remember_again(number, serial, directory, name);
        serial
    }

    /// The number stands for this object from now on; what it stood for is gone.
    fn replace(&mut self, number: u64, object: O) -> u64 {
        let gone = self.by_number.remove(&number);
        let (lookups, places) = gone.map_or((0, Vec::new()), |gone| (gone.lookups, gone.places));
        self.forget_places(places);
        self.last_serial += 1;
        let node = Node { object: Arc::new(object), serial: self.last_serial, places: Vec::new(), lookups };
        self.by_number.insert(number, node);
        self.last_serial
    }

    fn forget_places(&mut self, places: Vec<Place>) {
        for place in places {
            self.by_name.remove(&place);
        }
    }

    /// The object of a number is reached otherwise from now on, if it is the `same`.
    pub fn reach(&mut self, number: u64, same: &O, otherwise: O) {
        if let Some(node) = self.by_number.get_mut(&number).filter(|node| node.object.is(same)) {
            node.object = Arc::new(otherwise);
        }
    }

    /// The kernel is told this number for this name once more, if it still stands for the object of this serial number.
    pub fn remember_again(&mut self, number: u64, serial: u64, directory: u64, name: &[u8]) -> bool {
        let Some(node) = self.by_number.get_mut(&number).filter(|node| node.serial == serial) else { return false };
        node.lookups += u64::from(number != ROOT);
        if let Some(place) = self.place(directory, name) {
            self.put(place, number);
        }
        true
    }

    /// The kernel forgets as many look-ups of a number.
    pub fn forget(&mut self, number: u64, lookups: u64) {
        let Some(node) = self.by_number.get_mut(&number).filter(|_| number != ROOT) else { return };
        node.lookups = node.lookups.saturating_sub(lookups);
        if node.lookups == 0 {
            let places = self.by_number.remove(&number).map_or(Vec::new(), |node| node.places);
            self.forget_places(places);
        }
    }

    /// The name is gone.
    pub fn unlink(&mut self, directory: u64, name: &[u8]) {
        if let Some(place) = self.place(directory, name) {
            self.take(&place);
        }
    }

    /// What has one name gets another, and what had that loses it.
    pub fn rename(&mut self, from: (u64, &[u8]), to: (u64, &[u8])) {
        let (Some(from), Some(to)) = (self.place(from.0, from.1), self.place(to.0, to.1)) else { return };
        let moved = self.take(&from);
        self.take(&to);
        if let Some(number) = moved {
            self.put(to, number);
        }
    }

    fn place(&self, directory: u64, name: &[u8]) -> Option<Place> {
        Some(Place { directory, serial: self.serial(directory)?, name: name.into() })
    }

    fn take(&mut self, place: &Place) -> Option<u64> {
        let number = self.by_name.remove(place)?;
        if let Some(node) = self.by_number.get_mut(&number) {
            node.places.retain(|known| known != place);
        }
        Some(number)
    }

    /// A name leads to one object.
    fn put(&mut self, place: Place, number: u64) {
        if number == ROOT || self.by_name.get(&place) == Some(&number) {
            return;
        }
        self.take(&place);
        if let Some(node) = self.by_number.get_mut(&number) {
            node.places.push(place.clone());
            self.by_name.insert(place, number);
        }
    }

    /// The path of a name, as long as all directories above it are known.
    fn path_of(&self, place: &Place) -> Option<Vec<u8>> {
        let (mut place, mut names, mut length) = (place, Vec::new(), 0);
        loop {
            names.push(&place.name);
            length += place.name.len() + 1;
            let directory = self.by_number.get(&place.directory).filter(|node| node.serial == place.serial)?;
            if place.directory == ROOT {
                break;
            }
            place = directory.places.first().filter(|_| length < PATH_BYTES_MAX)?;
        }
        Some(names.iter().rev().flat_map(|name| [b"/".as_slice(), name]).flatten().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(nodes: &Nodes<()>, number: u64) -> Option<String> {
        nodes.path(number).map(|path| String::from_utf8(path).unwrap())
    }

    #[test]
    fn paths_follow_renames_and_numbers_are_forgotten() {
        let mut nodes = Nodes::new(());
        nodes.remember(2, ROOT, b"a", ());
        nodes.remember(3, 2, b"f", ());
        nodes.remember(3, ROOT, b"ab", ());
        nodes.remember(4, ROOT, b"b", ());
        nodes.rename((ROOT, b"a"), (ROOT, b"b"));
        assert_eq!(path(&nodes, 2).as_deref(), Some("/b"));
        assert_eq!(path(&nodes, 3).as_deref(), Some("/b/f"));
        assert_eq!(path(&nodes, 4), None, "it was replaced");
        nodes.unlink(2, b"f");
        assert_eq!(path(&nodes, 3).as_deref(), Some("/ab"), "the other name is left");
        nodes.forget(3, 1);
        assert!(nodes.object(3).is_some());
        nodes.forget(3, 1);
        assert!(nodes.object(3).is_none());
        assert_eq!(path(&nodes, ROOT).as_deref(), Some("/"));
    }

    #[test]
    fn a_number_that_is_given_again_is_another_object() {
        let mut nodes = Nodes::new(());
        let first = nodes.remember(2, ROOT, b"a", ());
        nodes.remember(3, 2, b"f", ());
        nodes.forget(2, 1);
        let second = nodes.remember(2, ROOT, b"b", ());
        assert_ne!(first, second);
        assert!(!nodes.remember_again(2, first, ROOT, b"b"));
        assert!(nodes.remember_again(2, second, ROOT, b"b"));
        assert_eq!(path(&nodes, 3), None, "its directory was the first");
    }

    /// Objects that share a number.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Numbered(u8);

    impl Identity for Numbered {
        fn is(&self, other: &Self) -> bool {
            self == other
        }
    }

    #[test]
    fn an_object_that_has_the_number_of_one_that_is_gone_takes_its_place() {
        let mut nodes = Nodes::new(Numbered(0));
        let first = nodes.remember(2, ROOT, b"a", Numbered(1));
        nodes.remember(3, 2, b"f", Numbered(2));
        assert_eq!(nodes.remember(2, ROOT, b"a", Numbered(1)), first);
        let second = nodes.remember(2, ROOT, b"b", Numbered(3));
        assert_ne!(second, first);
        assert_eq!(nodes.path(2).unwrap(), b"/b", "the old name was the old object's");
        assert_eq!(nodes.path(3), None, "its directory is gone");
        nodes.forget(2, 2);
        assert!(nodes.object(2).is_some(), "the kernel was told of the number three times");
        nodes.forget(2, 1);
        assert!(nodes.object(2).is_none());
    }

    #[test]
    fn only_the_same_object_is_reached_otherwise() {
        let mut nodes = Nodes::new(Numbered(0));
        nodes.remember(2, ROOT, b"a", Numbered(1));
        nodes.reach(2, &Numbered(3), Numbered(4));
        assert_eq!(*nodes.object(2).unwrap(), Numbered(1));
        nodes.reach(2, &Numbered(1), Numbered(4));
        assert_eq!(*nodes.object(2).unwrap(), Numbered(4));
    }

    #[test]
    fn directories_that_are_said_to_hold_each_other_have_no_path() {
        let mut nodes = Nodes::new(());
        nodes.remember(2, ROOT, b"a", ());
        nodes.remember(3, 2, b"b", ());
        nodes.unlink(ROOT, b"a");
        nodes.remember(2, 3, b"c", ());
        assert_eq!(path(&nodes, 2), None);
    }
}
