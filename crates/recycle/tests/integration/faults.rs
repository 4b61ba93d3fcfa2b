//! Devices that fail, end early or shrink.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use recycle::{Error, Mapping, Options, Policy, Recovery, Region};

use crate::support::{Chance, FakeFile, PAGE, Request, byte_at, filled, pages};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn region(file: &Arc<FakeFile>, options: &Options) -> Region {
    Region::on(Arc::clone(file) as _, true, options).unwrap()
}

#[test]
fn a_page_that_cannot_be_read_is_an_error_and_can_be_tried_again() {
    let file = FakeFile::new(filled(20 * PAGE));
    let region = region(&file, &pages(8));
    file.fail(|request, offset, _| (request == Request::Read && offset == 7 * PAGE).then_some(EIO));
    let error = region.pin(7).unwrap_err();
    assert!(matches!(error, Error::Io { operation: "read", offset, .. } if offset == 7 * PAGE), "{error}");
    assert_eq!(error.os_error(), Some(EIO));
    for page in (0..20).filter(|page| *page != 7) {
        assert_eq!(region.pin(page).unwrap()[3], byte_at(page * PAGE + 3), "page {page}: read-ahead hits the bad page");
    }
    assert!(region.pin(7).is_err());
    file.fail(|_, _, _| None);
    assert_eq!(region.pin(7).unwrap()[3], byte_at(7 * PAGE + 3));
}

#[test]
fn pages_that_cannot_be_written_stay_and_are_written_later() {
    for policy in Policy::ALL {
        let file = FakeFile::new(filled(40 * PAGE));
        let reported = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&reported);
        let on_error = move |_: &Error| {
            count.fetch_add(1, Ordering::SeqCst);
            Recovery::Fail
        };
        let region = region(&file, &Options { policy: *policy, on_error: Some(Arc::new(on_error)), ..pages(8) });
        (0..8).for_each(|page| region.write_at(page * PAGE, &[page as u8; 9]).unwrap());
        file.fail(|request, _, _| (request == Request::Write).then_some(ENOSPC));
        let error = region.pin(20).unwrap_err();
        assert_eq!(error.os_error(), Some(ENOSPC), "{error}");
        assert!(reported.load(Ordering::SeqCst) > 0);
        assert!(region.sync().is_err());
        (0..8).for_each(|page| assert_eq!(region.pin(page).unwrap()[..9], [page as u8; 9]));
        assert_eq!(file.content(), filled(40 * PAGE), "nothing was written");
        file.fail(|_, _, _| None);
        assert_eq!(region.pin(20).unwrap()[1], byte_at(20 * PAGE + 1));
        region.sync().unwrap();
        (0..8).for_each(|page| assert_eq!(file.content()[(page * PAGE) as usize..][..9], [page as u8; 9]));
    }
}

#[test]
fn clean_pages_make_room_where_dirty_ones_cannot_be_written() {
    let file = FakeFile::new(filled(40 * PAGE));
    let region = region(&file, &pages(8));
    region.write_at(0, b"changed").unwrap();
    (1..8).for_each(|page| drop(region.pin(page).unwrap()));
    file.fail(|request, _, _| (request == Request::Write).then_some(EIO));
    (8..40).for_each(|page| assert_eq!(region.pin(page).unwrap()[2], byte_at(page * PAGE + 2)));
    assert_eq!(&region.pin(0).unwrap()[..7], b"changed");
    file.fail(|_, _, _| None);
}

#[test]
fn a_failed_sync_is_an_error() {
    let file = FakeFile::new(filled(4 * PAGE));
    let region = region(&file, &pages(4));
    region.write_at(0, b"x").unwrap();
    file.fail(|request, _, _| (request == Request::Sync).then_some(EIO));
    assert!(matches!(region.sync(), Err(Error::Io { operation: "sync", .. })));
    file.fail(|_, _, _| None);
    region.sync().unwrap();
    assert!(file.syncs.load(Ordering::SeqCst) >= 2);
}

#[test]
fn a_resize_that_fails_loses_no_change() {
    let file = FakeFile::new(filled(20 * PAGE));
    let mut region = region(&file, &pages(8));
    region.write_at(15 * PAGE, b"kept").unwrap();
    file.fail(|request, _, _| (request == Request::SetLen).then_some(EIO));
    for len in [4 * PAGE, 30 * PAGE] {
        assert!(matches!(region.resize(len), Err(Error::Io { operation: "change of the length", .. })));
        assert_eq!(region.len(), 20 * PAGE);
        assert_eq!(&region.pin(15).unwrap()[..4], b"kept");
    }
    file.fail(|_, _, _| None);
    region.resize(16 * PAGE).unwrap();
    region.sync().unwrap();
    assert_eq!(&file.content()[15 * PAGE as usize..][..4], b"kept");
}

#[test]
fn a_truncated_file_is_an_error_and_is_not_made_longer() {
    let file = FakeFile::new(filled(20 * PAGE));
    let region = region(&file, &pages(8));
    region.write_at(10 * PAGE, b"lost").unwrap();
    region.write_at(PAGE, b"kept").unwrap();
    file.truncate((4 * PAGE + 100) as usize);
    assert!(matches!(region.pin(15), Err(Error::Truncated { .. })));
    assert!(matches!(region.pin(4), Err(Error::Truncated { .. })), "half of it is gone, and no zeroes replace it");
    assert_eq!(region.pin(3).unwrap()[5], byte_at(3 * PAGE + 5));
    assert!(matches!(region.sync(), Err(Error::Truncated { .. })));
    assert_eq!(file.content().len(), (4 * PAGE + 100) as usize);
    assert_eq!(&file.content()[PAGE as usize..][..4], b"kept", "pages within the file are written");
    assert_eq!(&region.pin(10).unwrap()[..4], b"lost", "what cannot be written is not forgotten");
    // Whoever shortened the file lengthens it again: the page has its place back.
    file.truncate((20 * PAGE) as usize);
    region.sync().unwrap();
    assert_eq!(&file.content()[10 * PAGE as usize..][..4], b"lost");
}

#[test]
fn an_access_by_address_is_tried_again_as_often_as_the_user_says() {
    let file = FakeFile::new(filled(20 * PAGE));
    let tries = Arc::new(AtomicU64::new(0));
    let (count, healed) = (Arc::clone(&tries), Arc::clone(&file));
    let on_error = move |error: &Error| {
        assert_eq!(error.os_error(), Some(EIO));
        if count.fetch_add(1, Ordering::SeqCst) == 2 {
            healed.fail(|_, _, _| None);
        }
        Recovery::Retry
    };
    let options = Options { on_error: Some(Arc::new(on_error)), ..pages(8) };
    // SAFETY: the file in memory returns what was written, or fails.
    let mapping = unsafe { Mapping::on(Arc::clone(&file) as _, true, &options) }.unwrap();
    file.fail(|request, _, _| (request == Request::Read).then_some(EIO));
    assert_eq!(mapping[5 * PAGE as usize + 1], byte_at(5 * PAGE + 1));
    assert_eq!(tries.load(Ordering::SeqCst), 3);
}

#[test]
fn random_failures_never_yield_a_wrong_byte() {
    let mut chance = Chance::new(11);
    for sequence in 0..30 {
        let file = FakeFile::new(filled(50 * PAGE));
        let policy = Policy::ALL[sequence % 3];
        let region = region(&file, &Options { policy, ..pages(1 + chance.below(12)) });
        let mut model = filled(50 * PAGE);
        let rate = 2 + chance.below(10);
        file.fail(move |_, offset, number| {
            (number.wrapping_mul(0x9E37_79B9) ^ offset).is_multiple_of(rate).then_some(EIO)
        });
        for _ in 0..500 {
            let place = chance.below(50 * PAGE - 8);
            let range = place as usize..place as usize + 8;
            if chance.below(2) == 0 {
                let mut bytes = [0; 8];
                if region.read_at(place, &mut bytes).is_ok() {
                    assert_eq!(bytes, model[range]);
                }
            } else if region.write_at(place, &place.to_be_bytes()).is_ok() {
                model[range].copy_from_slice(&place.to_be_bytes());
            } else {
                // Of a write that crosses pages the first may be done.
                let mut read = [0; 8];
                file.fail(|_, _, _| None);
                region.read_at(place, &mut read).unwrap();
                model[range].copy_from_slice(&read);
                file.fail(move |_, offset, number| {
                    (number.wrapping_mul(0x9E37_79B9) ^ offset).is_multiple_of(rate).then_some(EIO)
                });
            }
        }
        file.fail(|_, _, _| None);
        region.sync().unwrap();
        assert!(file.content() == model, "sequence {sequence}");
    }
}
