//! Nothing outlives its run, however its processes end.

use std::fs;

use manometer_testing::installed;
use rustix::process::Signal;

use crate::support::{Running, SHORT, Scene, is_alive, processes, signal_process_if_alive, wait_for, wait_for_event};

/// A neighbour that leaves its session, its group and its parents, and one that clears its environment too.
const LEAVER: &str = r#"
command = ["sh", "-c", "setsid sh -c 'sleep 600 & (sleep 600 &)' & env -i setsid sleep 600 & while :; do echo 5 ops; sleep 0.05; done"]
parser = "regex"
patterns = { op = "^(?<count>[0-9]+) ops" }
"#;

/// fio's jobs are in sessions of their own.
const FIO: &str = r#"
parser = "fio"
command = "fio --output-format=json+ --status-interval={interval_ms}ms --name=j --numjobs=2 --directory={directory} --size=1M --rw=randrw --bs=4k --ioengine=psync --rate_iops=500 --time_based --runtime=24h"
"#;

fn with_neighbour(table: &str) -> Scene {
    let scene = Scene::new();
    let (head, _) = SHORT.split_once("[[neighbour]]").unwrap();
    let text = format!("{head}[[neighbour]]\nname = \"other\"\nkind = \"command\"\n{table}\n[plan]\nphase = \"1s\"\n");
    scene.write("run.toml", &text);
    scene
}

/// The processes whose current directory is in the scene: of the run, and of all that it started.
fn left(scene: &Scene) -> Vec<u32> {
    let is_here =
        |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(scene.path("")));
    processes().into_iter().filter(|pid| is_here(pid) && is_alive(*pid)).collect()
}

fn nothing_is_left(scene: &Scene) {
    wait_for("every process to end", || left(scene).is_empty().then_some(()));
}

/// Starts a run whose neighbour has begun, for longer than a test takes.
fn started(scene: &Scene) -> Running {
    let running = scene.start("run run.toml --out rec --set plan.phase=300s --set plan.baseline=100ms");
    wait_for_event(&scene.path("rec"), "was started");
    wait_for("the programs", || (left(scene).len() > 5).then_some(()));
    running
}

#[test]
fn what_a_program_leaves_behind_ends_with_the_run() {
    let scene = with_neighbour(LEAVER);
    scene.run("run run.toml --out rec").status(0);
    assert_eq!(left(&scene), [] as [u32; 0], "at its normal end");
    let running = started(with_fresh_out(&scene));
    running.signal(Signal::INT);
    running.end().status(1);
    assert_eq!(left(&scene), [] as [u32; 0], "interrupted");
}

/// The same scene without its recording.
fn with_fresh_out(scene: &Scene) -> &Scene {
    fs::remove_dir_all(scene.path("rec")).unwrap();
    scene
}

#[test]
fn fio_for_a_day_ends_with_its_worker_and_with_the_run() {
    if !installed("fio") {
        return;
    }
    let scene = with_neighbour(FIO);
    let running = started(&scene);
    signal_process_if_alive(running.worker(1), Signal::KILL);
    running.end().status(1).err_has(&["failed"]);
    nothing_is_left(&scene);
    let running = started(with_fresh_out(&scene));
    running.signal(Signal::TERM);
    running.end().status(1);
    nothing_is_left(&scene);
}

/// What is killed in a round.
#[derive(Debug, Clone, Copy)]
struct Killed {
    command: bool,
    guard: bool,
    workers: bool,
}

const KILLED: [Killed; 6] = [
    Killed { command: true, guard: false, workers: false },
    Killed { command: false, guard: true, workers: false },
    Killed { command: false, guard: false, workers: true },
    Killed { command: true, guard: true, workers: false },
    Killed { command: true, guard: false, workers: true },
    Killed { command: false, guard: true, workers: true },
];

#[test]
fn kills_of_command_guard_and_workers_leave_nothing() {
    let rounds = std::env::var("KILLS").map_or(KILLED.len(), |rounds| rounds.parse().unwrap());
    // What cleared its environment is lost if worker and command are killed at once: it is not among these.
    let (marked, unmarked) = (with_neighbour(&LEAVER.replace("env -i ", "")), with_neighbour(LEAVER));
    for killed in KILLED.into_iter().cycle().take(rounds) {
        let scene = if killed.command { &marked } else { &unmarked };
        let running = started(scene);
        let (guards, workers) = (running.started_as("guard"), running.workers());
        assert_eq!((guards.len(), workers.len()), (1, 2), "{killed:?}");
        let command = Some(running.pid()).filter(|_| killed.command);
        let guards = guards.into_iter().filter(|_| killed.guard);
        let workers = workers.into_iter().filter(|_| killed.workers);
        command.into_iter().chain(guards).chain(workers).for_each(|pid| signal_process_if_alive(pid, Signal::KILL));
        if !killed.command && !killed.workers {
            running.signal(Signal::INT);
        }
        let output = running.end();
        nothing_is_left(scene);
        assert!(killed.command || output.code() == 1, "{killed:?}: {}", output.err());
        with_fresh_out(scene);
    }
}
