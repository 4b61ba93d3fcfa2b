//! What several users of one file system see of each other.

use std::ffi::CStr;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::sync::Arc;
use std::time::Duration;

use backpath::Options;
use backpath::fuse::{MountOptions, StoredFileSystem, spawn};
use backpath::metadata::{KeyValue, MemoryKeyValue, MetadataStore, Read, Write};
use rustix::fs::{Dir, Mode, OFlags};

use super::{Guarded, NOBODY, can_mount, clock, everywhere, may, mode};

/// One store for two clients.
#[derive(Clone, Default)]
struct Shared(Arc<MemoryKeyValue>);

impl KeyValue for Shared {
    type Error = std::convert::Infallible;

    fn read(&self, reads: &[Read]) -> Result<Vec<Option<Vec<u8>>>, Self::Error> {
        self.0.read(reads)
    }

    fn apply(&self, expected: &[(Vec<u8>, Option<Vec<u8>>)], writes: &[Write]) -> Result<bool, Self::Error> {
        self.0.apply(expected, writes)
    }

    fn fields(&self, map: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>, Self::Error> {
        self.0.fields(map)
    }

    fn round_trips(&self) -> u64 {
        self.0.round_trips()
    }
}

#[test]
fn two_mounts_of_a_store_lose_nothing_that_is_appended() {
    if !can_mount() {
        return;
    }
    let shared = Shared::default();
    let mounts = [(); 2].map(|()| {
        let target = tempfile::tempdir_in(manometer_testing::scratch_directory()).unwrap();
        let store = MetadataStore::open_on(shared.clone(), Options::default()).unwrap();
        let name = "shared".to_owned();
        let options = MountOptions { name, kernel_cache: Duration::ZERO, threads: 2, allow_other: true };
        let session = spawn(StoredFileSystem::new(store, clock), target.path(), &options).unwrap();
        (Guarded(Some(session)), target)
    });
    fs::write(mounts[0].1.path().join("log"), "").unwrap();
    std::thread::scope(|scope| {
        for (_, target) in &mounts {
            scope.spawn(|| {
                let mut log = OpenOptions::new().append(true).open(target.path().join("log")).unwrap();
                for number in 0..50 {
                    log.write_all(format!("line {number}\n").as_bytes()).unwrap();
                }
            });
        }
    });
    for (_, target) in &mounts {
        let text = fs::read_to_string(target.path().join("log")).unwrap();
        assert_eq!(text.lines().count(), 100);
        assert!((0..50).all(|number| text.lines().filter(|line| *line == format!("line {number}")).count() == 2));
    }
    for (session, target) in mounts {
        session.end(target.path());
    }
}

#[test]
fn a_directory_gives_its_group_to_what_is_made_in_it() {
    everywhere(|root, _| {
        let shared = root.join("shared");
        fs::create_dir(&shared).unwrap();
        chown(&shared, Some(0), Some(4321)).unwrap();
        mode(&shared, 0o2777);
        assert!(may(root, NOBODY, "umask 022; echo > \"$1/file\"; mkdir \"$1/directory\"", &shared));
        let of =
            |name: &str| fs::metadata(shared.join(name)).map(|made| (made.uid(), made.gid(), made.mode() & 0o7777));
        assert_eq!(of("file").unwrap(), (NOBODY, 4321, 0o644));
        assert_eq!(of("directory").unwrap(), (NOBODY, 4321, 0o2755));
    });
}

#[test]
fn a_listing_that_begins_again_is_new() {
    everywhere(|root, _| {
        fs::write(root.join("one"), "").unwrap();
        let directory = rustix::fs::open(root, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let mut listing = Dir::new(directory).unwrap();
        let mut names = || {
            listing.rewind();
            let entries = std::iter::from_fn(|| listing.read()).map(|entry| entry.unwrap().file_name().to_owned());
            let mut names: Vec<_> = entries.filter(|name| ![c".", c".."].contains(&name.as_c_str())).collect();
            names.sort();
            names
        };
        let owned = |names: &[&CStr]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(names(), owned(&[c"one"]));
        fs::write(root.join("two"), "").unwrap();
        assert_eq!(names(), owned(&[c"one", c"two"]));
    });
}
