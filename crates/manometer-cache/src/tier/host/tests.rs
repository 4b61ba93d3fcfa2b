use manometer_testing::repository_file;

use super::*;
use crate::tier::Arrangement;

fn disk() -> Arrangement {
    Arrangement::load(&repository_file("arrangements/1h.toml")).unwrap()
}

fn host(arrangement: &Arrangement) -> Host<'_> {
    let mut storage = TierStorage::new(0);
    storage.add(&arrangement.devices["hdd"], arrangement.origin.array(), 1);
    Host::new(&arrangement.host, storage, None, 1 << 30, 1 << 28, 1)
}

/// The wakeups in order, up to that of the thread `until`.
fn order(host: &mut Host<'_>, until: u32) -> Vec<String> {
    let mut wakeups = Vec::new();
    while let Some(wake) = host.storage.next() {
        let is_last = matches!(wake, Wakeup::Thread(thread) if thread == until);
        wakeups.push(format!("{wake:?}"));
        host.wake(wake, &mut Vec::new());
        if is_last {
            break;
        }
    }
    wakeups
}

#[test]
fn a_sync_waits_for_what_is_being_written_back() {
    let arrangement = disk();
    let mut host = host(&arrangement);
    host.change(0, 40 << 20);
    host.flush();
    assert_ne!(host.pages.dirty_from(0, 1), Some(0), "it is on its way");
    let job = host.storage.open(Wakeup::Thread(7));
    host.write_back(job, 7, 0, 4096);
    host.storage.close(job);
    let order = order(&mut host, 7);
    assert_eq!(order[0], "PagesFlushed(0)");
    assert!(host.pages.dirty() > 0);
}

#[test]
fn a_sync_waits_for_the_sync_of_another() {
    let arrangement = disk();
    let mut host = host(&arrangement);
    host.change(0, 8192);
    for thread in [1, 2] {
        let job = host.storage.open(Wakeup::Thread(thread));
        host.write_back(job, thread, 0, 8192);
        host.storage.close(job);
    }
    assert_eq!(order(&mut host, 2), ["PagesWritten(0)", "Thread(1)", "Thread(2)"]);
}

#[test]
fn a_page_that_another_reads_is_waited_for_and_not_read_again() {
    let arrangement = disk();
    let mut host = host(&arrangement);
    for thread in [1, 2] {
        let job = host.storage.open(Wakeup::Thread(thread));
        host.read(job, thread, 0, 8192, false);
        host.storage.close(job);
    }
    assert_eq!(order(&mut host, 2), ["PagesRead(0)", "Thread(1)", "Thread(2)"]);
    assert_eq!((host.counters().reads, host.counters().read_hits), (4, 0));
    assert_eq!(host.storage.flows().file.origin_read, 8192);
    let job = host.storage.open(Wakeup::Thread(3));
    host.read(job, 3, 0, 8192, false);
    host.storage.close(job);
    assert_eq!((order(&mut host, 3).len(), host.counters().read_hits), (1, 2));
}
