//! What a replay leaves behind when it is signalled.

use manometer_measure::{Clock as _, MonotonicClock};
use manometer_testing::{Cause, skip};
use rustix::process::Signal;
use serde_json::json;

use crate::support::{Scene, is_alive, signal_process, signal_process_if_alive, wait_for};

/// A folder with a trace of a minute.
fn scene() -> Scene {
    let scene = Scene::new();
    let line = |number: u64| format!("insert,{},{number},100\n", number % 10);
    scene.write("trace.txt", &(0..60_000).map(line).collect::<String>());
    scene
}

#[test]
fn a_signal_that_comes_twice_at_once_ends_a_replay_in_order() {
    let scene = scene();
    let running =
        scene.start("replay trace.txt --engine lmdb --option sync=no-sync --dir data --interval 100ms --format json");
    wait_for("the database", || scene.path("data/replay/db").exists().then_some(()));
    // As from a shell that signals the process and its group.
    running.signal(Signal::INT);
    signal_process_if_alive(running.pid(), Signal::TERM);
    let output = running.end().status(1);
    if !output.out().is_empty() {
        let document = output.json();
        assert_eq!((&document["complete"], &document["fidelity"]["verdict"]), (&json!(false), &json!("not-faithful")));
    }
    assert!(!scene.path("data/replay").exists(), "{}", output.err());
}

#[test]
fn a_second_signal_ends_a_replay_at_once_with_a_word_and_without_a_folder() {
    let scene = scene();
    let running = scene.start("replay trace.txt --engine redis --dir data --format json");
    // Before its database is there, it asks the server's program for its version.
    wait_for("the database, or the end", || {
        let is_there = scene.path("data/replay/manometer.json").exists();
        (is_there || !is_alive(running.pid())).then_some(())
    });
    if !is_alive(running.pid()) {
        skip(Cause::Program, "redis-server is not installed");
        return;
    }
    let server = wait_for("the server", || running.children("redis-server").first().copied());
    // It answers nothing any more: the replay waits for it when it is interrupted.
    signal_process(server, Signal::STOP);
    while is_alive(running.pid()) {
        signal_process_if_alive(running.pid(), Signal::INT);
        MonotonicClock.sleep(100_000_000);
    }
    let output = running.end().status(130).err_has(&["stopped at once by a second signal"]);
    assert_eq!(output.out(), "", "no half result");
    assert!(!scene.path("data/replay").exists(), "{}", output.err());
    wait_for("the server to end", || (!is_alive(server)).then_some(()));
}

#[test]
fn a_replay_that_is_refused_leaves_the_database_of_another_alone() {
    let scene = scene();
    scene
        .run("replay trace.txt --engine lmdb --option sync=no-sync --dir data --time scaled --factor 100000 --keep")
        .status(0);
    let marker = scene.read("data/replay/manometer.json");
    scene.write("other.txt", "insert,1,0,200\ninsert,2,100000,200\n");
    // Another replay, which is refused: the database is none of its own.
    scene.run("replay other.txt --engine redb --dir data").status(2);
    assert_eq!(scene.read("data/replay/manometer.json"), marker);
}
