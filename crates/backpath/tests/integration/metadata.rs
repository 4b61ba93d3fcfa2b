//! The metadata service: two clients against one plain file system, and round trips.

use backpath::metadata::{KeyValue, MemoryKeyValue, MetadataError, MetadataStore, Read, Write};
use backpath::{Attributes, Credentials, Errno, Operation, Options, Query};
use proptest::prelude::*;

use crate::support::{Scene, user};

/// A key-value store that several clients share.
struct Shared<'a, K>(&'a K);

impl<K: KeyValue> KeyValue for Shared<'_, K> {
    type Error = K::Error;

    fn read(&self, reads: &[Read]) -> Result<Vec<Option<Vec<u8>>>, K::Error> {
        self.0.read(reads)
    }

    fn apply(&self, expected: &[(Vec<u8>, Option<Vec<u8>>)], writes: &[Write]) -> Result<bool, K::Error> {
        self.0.apply(expected, writes)
    }

    fn fields(&self, map: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>, K::Error> {
        self.0.fields(map)
    }

    fn round_trips(&self) -> u64 {
        self.0.round_trips()
    }
}

fn client<K: KeyValue>(key_value: &K) -> MetadataStore<Shared<'_, K>> {
    MetadataStore::open_on(Shared(key_value), Options::default()).unwrap()
}

/// What both file systems have to agree on: not the numbers of inodes.
type Common = (backpath::Kind, u16, u32, u32, u32, Vec<u8>);

fn common(attributes: &Attributes, path: Vec<u8>) -> Common {
    // A plain directory counts its names, a stored one always has one.
    let links = if attributes.kind == backpath::Kind::Directory { 1 } else { attributes.links };
    (attributes.kind, attributes.mode, attributes.uid, attributes.gid, links, path)
}

fn opened<K: KeyValue>(store: &MetadataStore<K>, path: &[u8], credentials: &Credentials) -> Result<Common, Errno> {
    match store.open(&Query::new(path), credentials) {
        Ok(opened) => Ok(common(&opened.attributes, opened.path)),
        Err(error) => Err(error.errno().unwrap_or_else(|| panic!("{error}"))),
    }
}

/// A directory of this depth with a file.
fn deep<K: KeyValue>(store: &MetadataStore<K>, depth: usize) -> String {
    let mut path = String::new();
    for level in 0..depth - 1 {
        path = format!("{path}/d{level}");
        store.act(&Operation::MakeDirectory(path.as_bytes(), 0o755), &Credentials::root(), 0).unwrap();
    }
    let path = format!("{path}/file");
    store.act(&Operation::Create(path.as_bytes(), 0o644), &Credentials::root(), 0).unwrap();
    path
}

/// What any key-value store has to show: one round trip for a warm open at any depth, one per name without a cache.
pub fn check_round_trips<K: KeyValue>(key_value: &K) {
    let writer = client(key_value);
    for depth in 1..=10 {
        let path = deep(&writer, depth);
        let reader = client(key_value);
        let cost = |open: &dyn Fn()| {
            let before = reader.round_trips();
            open();
            reader.round_trips() - before
        };
        let query = Query::new(path.as_bytes());
        let open = || drop(reader.open(&query, &user(1)).unwrap());
        let cold = cost(&open);
        let warm = cost(&open);
        let from_the_front = cost(&|| drop(reader.open_from_the_front(path.as_bytes(), &user(1)).unwrap()));
        assert_eq!((cold, warm, from_the_front), (depth as u64 + 2, 1, depth as u64 + 1), "depth {depth}");
        writer.act(&Operation::Unlink(path.as_bytes()), &Credentials::root(), 0).unwrap();
        for level in (1..depth).rev() {
            let end = path.match_indices('/').nth(level).unwrap().0;
            writer.act(&Operation::RemoveDirectory(&path.as_bytes()[..end]), &Credentials::root(), 0).unwrap();
        }
    }
}

/// What one client changes, the other one knows.
pub fn check_coherence<K: KeyValue>(key_value: &K) {
    let (one, two) = (client(key_value), client(key_value));
    let path = deep(&one, 5);
    let path = path.as_bytes();
    let root = Credentials::root();
    assert!(opened(&two, path, &user(1)).is_ok());
    one.act(&Operation::ChangeMode(b"/d0/d1", 0o700), &root, 0).unwrap();
    assert_eq!(opened(&two, path, &user(1)), Err(Errno::AccessDenied));
    two.act(&Operation::ChangeMode(b"/d0/d1", 0o711), &root, 0).unwrap();
    assert!(opened(&one, path, &user(1)).is_ok());
    one.act(&Operation::Rename(b"/d0", b"/moved"), &root, 0).unwrap();
    assert_eq!(opened(&two, path, &user(1)), Err(Errno::NotFound));
    assert!(opened(&two, b"/moved/d1/d2/d3/file", &user(1)).is_ok());
    one.act(&Operation::Unlink(b"/moved/d1/d2/d3/file"), &root, 0).unwrap();
    assert_eq!(opened(&two, b"/moved/d1/d2/d3/file", &user(1)), Err(Errno::NotFound));
    two.act(&Operation::Create(b"/moved/d1/d2/d3/file", 0o600), &root, 0).unwrap();
    assert_eq!(opened(&one, b"/moved/d1/d2/d3/file", &user(1)).unwrap().1, 0o600);
    let names: Vec<_> = one.list(b"/moved", &root).unwrap().into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, [b"d1"]);
}

/// Content comes back, with holes and ends.
pub fn check_data<K: KeyValue>(key_value: &K) {
    let store = client(key_value);
    store.act(&Operation::Create(b"/data", 0o644), &Credentials::root(), 0).unwrap();
    let inode = store.open(&Query::new(b"/data"), &user(1)).unwrap().attributes.inode;
    let bytes: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
    assert_eq!(store.write(inode, 100, &bytes, 7).unwrap(), bytes.len());
    assert_eq!(store.read(inode, 100, 1 << 20).unwrap(), bytes);
    assert_eq!(store.read(inode, 0, 100).unwrap(), [0; 100]);
    assert_eq!(store.read(inode, 70_000, 10).unwrap(), bytes[69_900..69_910]);
    store.truncate(inode, 70_000, 8).unwrap();
    assert_eq!(store.read(inode, 69_995, 100).unwrap(), bytes[69_895..69_900]);
    store.truncate(inode, 150_000, 9).unwrap();
    assert_eq!(store.read(inode, 69_998, 4).unwrap(), [bytes[69_898], bytes[69_899], 0, 0]);
    assert_eq!(store.read(inode, 200_000, 4).unwrap(), [0; 0]);
    let stat = store.stat(inode).unwrap();
    assert_eq!((stat.size, stat.modified_ns), (150_000, 9));
    assert_eq!(store.write(inode, u64::MAX - 1, b"xx", 0).unwrap_err().errno(), Some(Errno::FileTooLarge));
    store.act(&Operation::Unlink(b"/data"), &Credentials::root(), 0).unwrap();
    assert_eq!(store.read(inode, 0, 1).unwrap_err().errno(), Some(Errno::NotFound));
}

#[test]
fn in_memory() {
    check_round_trips(&MemoryKeyValue::default());
    check_coherence(&MemoryKeyValue::default());
    check_data(&MemoryKeyValue::default());
}

#[test]
fn a_client_that_was_away_for_long_forgets_everything() {
    let key_value = MemoryKeyValue::default();
    let (one, two) = (client(&key_value), client(&key_value));
    let path = deep(&one, 3);
    opened(&two, path.as_bytes(), &user(1)).unwrap();
    one.act(&Operation::ChangeMode(b"/d0", 0o700), &Credentials::root(), 0).unwrap();
    for mode in 0..10_050 {
        one.act(&Operation::ChangeMode(b"/d0/d1", mode % 2), &Credentials::root(), 0).unwrap();
    }
    assert_eq!(opened(&two, path.as_bytes(), &user(1)), Err(Errno::AccessDenied));
}

#[test]
fn a_store_that_holds_something_else_is_refused() {
    let key_value = MemoryKeyValue::default();
    key_value.apply(&[], &[Write::Set(b"e".to_vec(), b"elephant".to_vec())]).unwrap();
    let error = MetadataStore::open_on(Shared(&key_value), Options::default()).err().unwrap();
    assert!(matches!(&error, MetadataError::Damaged(_)), "{error}");
    let key_value = MemoryKeyValue::default();
    let store = client(&key_value);
    let path = deep(&store, 2);
    key_value.apply(&[], &[Write::Set([b"i".as_slice(), &2_u64.to_le_bytes()].concat(), b"?".to_vec())]).unwrap();
    let error = store.open(&Query::new(path.as_bytes()), &user(1)).err();
    assert!(matches!(client(&key_value).open(&Query::new(path.as_bytes()), &user(1)), Err(MetadataError::Damaged(_))));
    drop(error);
}

#[test]
fn clients_at_once_make_every_object_once() {
    let key_value = MemoryKeyValue::default();
    drop(client(&key_value));
    std::thread::scope(|scope| {
        for number in 0..4 {
            let key_value = &key_value;
            scope.spawn(move || {
                let store = client(key_value);
                for file in 0..50 {
                    let path = format!("/{}", (file + number * 13) % 60);
                    match store.act(&Operation::Create(path.as_bytes(), 0o644), &Credentials::root(), 0) {
                        Ok(()) => {}
                        Err(error) => assert_eq!(error.errno(), Some(Errno::Exists)),
                    }
                    assert!(opened(&store, path.as_bytes(), &user(1)).is_ok());
                }
            });
        }
    });
    let names = client(&key_value).list(b"/", &Credentials::root()).unwrap();
    let inodes: std::collections::HashSet<u64> = names.iter().map(|(_, inode, _)| *inode).collect();
    assert_eq!((names.len(), inodes.len()), (60, 60));
}

#[derive(Debug, Clone)]
struct Action {
    number: u8,
    paths: (String, String),
    mode: u16,
}

impl Action {
    fn operation(&self) -> Operation<'_> {
        let (one, two) = (self.paths.0.as_bytes(), self.paths.1.as_bytes());
        match self.number {
            0 | 1 => Operation::Create(one, self.mode),
            2..=4 => Operation::MakeDirectory(one, self.mode | 0o700),
            5 => Operation::Symlink(two, one),
            6 => Operation::Link(one, two),
            7 => Operation::Unlink(one),
            8 => Operation::RemoveDirectory(one),
            9 | 10 => Operation::Rename(one, two),
            11 => Operation::ChangeMode(one, self.mode),
            _ => Operation::ChangeOwner(one, u32::from(self.mode) % 3, u32::from(self.mode) % 2),
        }
    }
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec("[abc]", 1..4).prop_map(|names| format!("/{}", names.join("/")))
}

fn action() -> impl Strategy<Value = Action> {
    (0..13_u8, (path(), path()), 0..0o1000_u16).prop_map(|(number, paths, mode)| Action { number, paths, mode })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn two_clients_and_a_plain_file_system_agree(
        rounds in prop::collection::vec((action(), any::<bool>(), 0..3_u32, prop::collection::vec((path(), 0..3_u32), 1..5)), 1..60),
    ) {
        let key_value = MemoryKeyValue::default();
        let clients = [client(&key_value), client(&key_value)];
        let scene = Scene::new(Options::default());
        let open_root = Operation::ChangeMode(b"/", 0o777);
        scene.act(&open_root).unwrap();
        clients[0].act(&open_root, &Credentials::root(), 0).unwrap();
        let someone = |uid: u32| if uid == 0 { Credentials::root() } else { user(uid) };
        for (action, which, actor, questions) in &rounds {
            let operation = action.operation();
            let expected = scene.files.act(&operation, &someone(*actor), &scene.cache);
            let done = clients[usize::from(*which)].act(&operation, &someone(*actor), 0);
            prop_assert_eq!(done.map_err(|error| error.errno()), expected.map_err(Some), "{:?}", action);
            for (path, uid) in questions {
                let expected = scene.forwards(path.as_bytes(), &someone(*uid), true);
                let expected = expected.map(|(attributes, path)| common(&attributes, path));
                for store in &clients {
                    prop_assert_eq!(opened(store, path.as_bytes(), &someone(*uid)), expected.clone(), "{}", path);
                }
            }
        }
    }
}
