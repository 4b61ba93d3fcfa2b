//! The smallest and the largest, and what is refused.

use std::fs::File;
use std::path::Path;

use recycle::storage::open_file;
use recycle::{Advice, Budget, Error, Faults, Options, Region};

use crate::support::{PAGE, byte_at, filled, map, open, pages};

#[test]
fn a_budget_of_nothing_is_refused_and_one_page_is_enough_to_pin() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(10 * PAGE)).unwrap();
    let file = open(&path);
    for memory in [0, PAGE - 1] {
        let error = Region::open(&file, &Options { memory, ..Options::default() }).unwrap_err();
        assert!(matches!(error, Error::Budget { got, wanted: PAGE, .. } if got == memory), "{error}");
    }
    let error = map(&file, &pages(3)).unwrap_err().to_string();
    assert!(error.contains("one instruction"), "{error}");
    let region = Region::open(&file, &pages(1)).unwrap();
    for page in (0..10).chain((0..10).rev()) {
        region.write_at(page * PAGE + 5, b"x").unwrap();
        assert_eq!(region.pin(page).unwrap()[7], byte_at(page * PAGE + 7));
    }
    let held = region.pin(3).unwrap();
    assert_eq!(region.pin(3).unwrap()[0], held[0], "the same page can be pinned again");
    let error = region.pin(4).unwrap_err();
    assert!(matches!(error, Error::AllPinned { pages: 1 }), "{error}");
    drop(held);
    assert!(region.pin(4).is_ok());
}

#[test]
fn a_budget_is_a_number_of_pages() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory.path().join("file"));
    for memory in [1 << 44, 1 << 62, u64::MAX] {
        let options = Options { memory, ..Options::default() };
        let error = Region::open(&file, &options).unwrap_err();
        assert!(matches!(error, Error::BudgetTooLarge { got, most } if got == memory && most < 1 << 44), "{error}");
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (pipe, socket) = (directory.path().join("pipe"), directory.path().join("socket"));
    let name = std::ffi::CString::new(pipe.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: the name is a string of C.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let refused = |path: &Path, wanted: &str| {
        // Nobody ever writes into the pipe: opening it does not wait for that.
        let error = Region::open(&open_file(path, false).unwrap(), &pages(4)).unwrap_err();
        assert!(matches!(error, Error::NotAFile { what } if what == wanted), "{}: {error}", path.display());
    };
    refused(directory.path(), "directory");
    refused(&pipe, "pipe");
    refused(Path::new("/dev/null"), "character device");
    refused(Path::new("/dev/zero"), "character device");
    assert_eq!(open_file(&socket, false).unwrap_err().raw_os_error(), Some(libc::ENXIO));
}

#[test]
fn a_length_that_nothing_can_have_is_refused_and_the_region_is_as_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(5 * PAGE)).unwrap();
    let mut region = Region::open(&open(&path), &pages(4)).unwrap();
    for len in [1 << 62, 1 << 63, u64::MAX] {
        assert!(matches!(region.resize(len), Err(Error::Io { .. })), "{len}");
        assert_eq!((region.len(), region.pin(4).unwrap()[9]), (5 * PAGE, byte_at(4 * PAGE + 9)));
    }
    drop(region);
    for faults in [Faults::Signal, Faults::Thread] {
        let mut mapping = map(&open(&path), &Options { faults, ..pages(4) }).unwrap();
        for len in [1 << 62, 1 << 63, u64::MAX] {
            assert!(matches!(mapping.resize(len), Err(Error::Io { .. })), "{len}");
            assert!(*mapping == filled(5 * PAGE)[..]);
        }
    }
}

#[test]
fn a_mapping_keeps_room_for_accesses_beside_pins() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(20 * PAGE)).unwrap();
    let mapping = map(&open(&path), &pages(6)).unwrap();
    let held = [mapping.pin(0).unwrap(), mapping.pin(1).unwrap()];
    assert!(matches!(mapping.pin(2), Err(Error::AllPinned { .. })));
    assert!(*mapping == filled(20 * PAGE)[..], "the rest can be read all the same");
    assert_eq!((held[0][9], held[1][9]), (byte_at(9), byte_at(PAGE + 9)));
}

#[test]
fn a_sparse_file_of_a_tebibyte_takes_the_budget_and_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory.path().join("file"));
    file.set_len(1 << 40).unwrap();
    let places: Vec<u64> = (0..200).map(|number| number * 5_497_558_138 + 3).collect();
    let region = Region::open(&file, &pages(16)).unwrap();
    places.iter().for_each(|place| region.write_at(*place, &place.to_le_bytes()).unwrap());
    region.sync().unwrap();
    drop(region);
    let mapping = map(&file, &pages(16)).unwrap();
    for place in &places {
        assert_eq!(mapping[*place as usize..][..8], place.to_le_bytes());
    }
    assert_eq!(mapping.len(), 1 << 40);
    assert!(mapping.counters().pages_recycled >= 200 - 16);
}

#[test]
fn an_empty_region_is_empty_and_can_grow() {
    let directory = tempfile::tempdir().unwrap();
    let file = open(&directory.path().join("file"));
    let mut region = Region::open(&file, &pages(4)).unwrap();
    assert!(region.is_empty() && region.pages() == 0);
    assert!(matches!(region.pin(0), Err(Error::OutOfRange { .. })));
    region.sync().unwrap();
    region.resize(3 * PAGE + 1).unwrap();
    region.write_at(3 * PAGE, b"!").unwrap();
    drop(region);
    let mut mapping = map(&file, &pages(4)).unwrap();
    assert_eq!(mapping[3 * PAGE as usize..], *b"!");
    mapping.resize(0).unwrap();
    assert!(mapping.is_empty());
    drop(mapping);
    assert_eq!(file.metadata().unwrap().len(), 0);
}

#[test]
fn a_region_follows_a_file_that_others_append_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let all = filled(40 * PAGE);
    let read = |region: &Region| {
        let mut bytes = vec![0; region.len() as usize];
        region.read_at(0, &mut bytes).unwrap();
        bytes
    };
    std::fs::write(&path, &all[..(5 * PAGE + 7) as usize]).unwrap();
    let mut region = Region::open(&File::open(&path).unwrap(), &pages(64)).unwrap();
    assert!(read(&region) == all[..(5 * PAGE + 7) as usize]);
    let before = region.counters().pages_read;
    for len in [5 * PAGE + 9, 6 * PAGE, 6 * PAGE, 40 * PAGE] {
        std::fs::write(&path, &all[..len as usize]).unwrap();
        region.follow().unwrap();
        assert!(read(&region) == all[..len as usize], "{len}");
    }
    // The page in which the region ended twice, and those that were appended.
    assert_eq!(region.counters().pages_read - before, 2 + 34);
    std::fs::write(&path, &all[..PAGE as usize]).unwrap();
    region.follow().unwrap();
    assert_eq!(region.len(), 40 * PAGE, "a file that was shortened changes nothing");
}

#[test]
fn growth_beyond_the_reserved_addresses_moves_the_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(5 * PAGE)).unwrap();
    let file = open(&path);
    let mut mapping = map(&file, &pages(8)).unwrap();
    mapping.as_mut_slice().unwrap()[7] = 200;
    mapping.resize(3 << 30).unwrap();
    assert_eq!((mapping[7], mapping[8], mapping.len()), (200, byte_at(8), 3 << 30));
    mapping.as_mut_slice().unwrap()[(3 << 30) - 1] = 9;
    mapping.resize(PAGE + 1).unwrap();
    assert_eq!((mapping[7], mapping[PAGE as usize]), (200, byte_at(PAGE)));
    drop(mapping);
    let mut region = Region::open(&file, &pages(8)).unwrap();
    region.resize(3 << 30).unwrap();
    assert_eq!(region.pin(0).unwrap()[7], 200);
    assert_eq!(region.pin(1).unwrap()[1..9], [0; 8], "what was cut off is zero when it comes back");
}

#[test]
fn bytes_outside_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(100)).unwrap();
    let mut mapping = map(&open(&path), &pages(4)).unwrap();
    let mut bytes = [0; 10];
    mapping.read_at(90, &mut bytes).unwrap();
    assert!(matches!(mapping.read_at(91, &mut bytes), Err(Error::OutOfRange { offset: 91, bytes: 10, len: 100 })));
    assert!(matches!(mapping.read_at(u64::MAX, &mut bytes), Err(Error::OutOfRange { .. })));
    assert!(mapping.read_at(100, &mut []).is_ok());
    assert!(matches!(mapping.write_at(99, b"ab"), Err(Error::OutOfRange { .. })));
    assert!(matches!(mapping.pin(1), Err(Error::OutOfRange { .. })));
    // Ranges of advice and syncs may reach beyond.
    mapping.advise(50..1_000_000, Advice::WillNeed).unwrap();
    mapping.sync_range(1_000..).unwrap();
}

#[test]
fn a_file_keeps_the_way_it_was_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(PAGE)).unwrap();
    let file = File::open(&path).unwrap();
    let mut region = Region::open(&file, &pages(4)).unwrap();
    assert!(matches!(region.pin_mut(0), Err(Error::ReadOnly)));
    assert!(matches!(region.write_at(0, b"a"), Err(Error::ReadOnly)));
    assert!(matches!(region.resize(0), Err(Error::ReadOnly)));
    assert_eq!(region.pin(0).unwrap()[9], byte_at(9));
    let mut mapping = map(&file, &pages(4)).unwrap();
    assert!(matches!(mapping.as_mut_slice(), Err(Error::ReadOnly)));
    let write_only = File::options().write(true).open(&path).unwrap();
    assert!(matches!(Region::open(&write_only, &pages(4)), Err(Error::WriteOnly)));
}

#[test]
fn a_region_that_writes_excludes_others_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(PAGE)).unwrap();
    let readers = [0, 1].map(|_| Region::open(&File::open(&path).unwrap(), &pages(4)).unwrap());
    assert!(matches!(Region::open(&open(&path), &pages(4)), Err(Error::Shared)));
    assert_eq!(readers[0].pin(0).unwrap()[..], readers[1].pin(0).unwrap()[..]);
    drop(readers);
    let writer = map(&open(&path), &pages(4)).unwrap();
    assert!(matches!(Region::open(&File::open(&path).unwrap(), &pages(4)), Err(Error::Shared)));
    drop(writer);
    Region::open(&open(&path), &pages(4)).unwrap();
}

#[test]
fn a_read_only_system_call_works_with_a_thread_and_is_refused_with_signals() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(8 * PAGE)).unwrap();
    let write = |mapping: &recycle::Mapping| {
        use std::io::Write as _;
        File::create(directory.path().join("copy")).unwrap().write_all(mapping)
    };
    let mapping = map(&open(&path), &pages(8)).unwrap();
    assert_eq!(write(&mapping).unwrap_err().raw_os_error(), Some(libc_efault()));
    let page = mapping.pin(0).unwrap();
    std::fs::write(directory.path().join("pinned"), &*page).unwrap();
    drop(page);
    drop(mapping);
    match map(&open(&path), &Options { faults: Faults::Thread, ..pages(8) }) {
        Ok(mapping) => {
            write(&mapping).unwrap();
            assert_eq!(std::fs::read(directory.path().join("copy")).unwrap(), filled(8 * PAGE));
        }
        // Not allowed here: then it says so, and how to allow it.
        Err(error) => assert!(matches!(error, Error::Unsupported { .. }), "{error}"),
    }
}

const fn libc_efault() -> i32 {
    14
}

#[test]
fn advice_moves_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(64 * PAGE)).unwrap();
    let region = Region::open(&open(&path), &pages(32)).unwrap();
    region.advise(.., Advice::WillNeed).unwrap();
    let read = region.counters().pages_read;
    assert_eq!(read, 16, "half the budget");
    (0..16).for_each(|page| drop(region.pin(page).unwrap()));
    assert_eq!(region.counters().pages_read, read, "they were there");
    region.write_at(3, b"changed").unwrap();
    region.advise(.., Advice::DontNeed).unwrap();
    assert_eq!(&std::fs::read(&path).unwrap()[3..10], b"changed");
    region.advise(.., Advice::Random).unwrap();
    drop(region.pin(0).unwrap());
    assert_eq!(region.counters().pages_read, read + 1, "they had gone, and come one by one");
    region.advise(.., Advice::Sequential).unwrap();
    drop(region.pin(1).unwrap());
    assert_eq!(region.counters().pages_read, read + 5, "an eighth of the budget at once");
}

#[test]
fn a_read_of_what_is_in_memory_reads_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(9 * PAGE)).unwrap();
    let region = Region::open(&open(&path), &pages(8)).unwrap();
    let mut bytes = [0; 8];
    let across = 3 * PAGE - 4;
    drop(region.pin(2).unwrap());
    assert!(!region.read_resident(across, &mut bytes).unwrap(), "page 3 is absent");
    drop(region.pin(3).unwrap());
    let faults = region.counters().faults;
    assert!(region.read_resident(across, &mut bytes).unwrap());
    assert_eq!(bytes[..], filled(9 * PAGE)[across as usize..][..8]);
    let held = region.pin_mut(3).unwrap();
    assert!(!region.read_resident(across, &mut bytes).unwrap(), "it does not wait for who writes");
    drop(held);
    assert_eq!(region.counters().faults, faults);
    assert!(matches!(region.read_resident(9 * PAGE - 7, &mut bytes), Err(Error::OutOfRange { .. })));
}

#[test]
fn a_shared_budget_outlives_its_regions() {
    let directory = tempfile::tempdir().unwrap();
    let budget = Budget::new(&pages(4)).unwrap();
    for number in 0..20 {
        let path = directory.path().join(format!("{number}"));
        std::fs::write(&path, filled(9 * PAGE)).unwrap();
        let options = Options { budget: Some(budget.clone()), ..Options::default() };
        let region = Region::open(&open(&path), &options).unwrap();
        (0..9).for_each(|page| assert_eq!(region.pin(page).unwrap()[1], byte_at(page * PAGE + 1)));
    }
    assert_eq!(budget.counters().faults, 20 * 9);
}

/// Why `Region::map` is unsafe and `Region::open` is not: what another program writes into the file reaches a mapped page
/// that comes again, and never a pinned one.
#[test]
fn a_file_that_others_write_changes_mapped_bytes_and_no_pinned_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(40 * PAGE)).unwrap();
    let change = |byte: u8| {
        use std::os::unix::fs::FileExt as _;
        open(&path).write_all_at(&[byte], 9).unwrap();
    };
    let region = Region::open(&File::open(&path).unwrap(), &pages(4)).unwrap();
    let held = region.pin(0).unwrap();
    change(200);
    (1..40).for_each(|page| drop(region.pin(page).unwrap()));
    assert_eq!(held[9], byte_at(9), "a pinned page is a copy of this process");
    drop(held);
    (1..40).for_each(|page| drop(region.pin(page).unwrap()));
    assert_eq!(region.pin(0).unwrap()[9], 200);
    drop(region);

    let mapping = map(&File::open(&path).unwrap(), &pages(6)).unwrap();
    // No reference to the byte lives while it changes.
    let byte = |place: u64| {
        // SAFETY: the byte is within the mapping.
        unsafe { mapping.as_mut_ptr().wrapping_add(place as usize).read_volatile() }
    };
    let held = mapping.pin(0).unwrap();
    assert_eq!(held[9], 200);
    change(201);
    (1..40).for_each(|page| assert_eq!(byte(page * PAGE), byte_at(page * PAGE)));
    assert_eq!(held[9], 200);
    drop(held);
    (1..40).for_each(|page| assert_eq!(byte(page * PAGE), byte_at(page * PAGE)));
    assert_eq!(byte(9), 201);
}

/// Threads write bytes of the same pages through a shared mapping, as C does.
#[test]
fn threads_write_other_bytes_of_the_same_pages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    open(&path).set_len(20 * PAGE).unwrap();
    let mapping = map(&open(&path), &pages(8)).unwrap();
    std::thread::scope(|scope| {
        for me in 0..4_u8 {
            let mapping = &mapping;
            scope.spawn(move || {
                for place in (u64::from(me) * 512..20 * PAGE).step_by(2048) {
                    // SAFETY: each thread has bytes of its own, and nobody makes a reference to them.
                    unsafe { mapping.write_shared(place, &[me + 1; 512]) }.unwrap();
                    let mut read = [0; 512];
                    mapping.read_at(place, &mut read).unwrap();
                    assert_eq!(read, [me + 1; 512]);
                }
            });
        }
    });
    mapping.sync().unwrap();
    let written = std::fs::read(&path).unwrap();
    assert!((0..).zip(&written).all(|(place, byte)| u64::from(*byte) == place / 512 % 4 + 1));
}
