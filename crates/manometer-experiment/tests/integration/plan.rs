//! From an experiment to its phases.

use std::fs;

use manometer_experiment::file;
use manometer_experiment::plan::plan;
use manometer_measure::plan::{PhaseKind, Plan};

fn plan_of(text: &str) -> Plan {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("e.toml");
    fs::write(&path, format!("name = \"a test\"\n[device]\ndirectory = \"data\"\n{text}")).unwrap();
    plan(&file::load(&path, &[]).unwrap())
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.phases.iter().map(|phase| phase.id.as_str()).collect()
}

const PRIMARY: &str = "[primary]\nrecords = 1000\n";
const WRITER: &str = "[[neighbour]]\nname = \"writer\"\nkind = \"io\"\nfile_size = \"1MiB\"\n";

#[test]
fn a_ladder_of_two_keys_is_their_product_in_the_order_written() {
    let ladder = "[plan]\nwarmup = \"5s\"\nphase = \"10s\"\n[plan.vary]\n\"writer.write_ratio\" = [0, 1]\n\"writer.iodepth\" = [1, 4]\n";
    let plan = plan_of(&format!("{PRIMARY}{WRITER}{ladder}"));
    assert_eq!(ids(&plan), ["warmup", "w0", "w1", "w2", "w3", "w4"]);
    let pairs: Vec<_> = plan.phases[2..]
        .iter()
        .map(|phase| (phase.settings["writer.write_ratio"].clone(), phase.settings["writer.iodepth"].clone()))
        .collect();
    assert_eq!(pairs, [(0.0, 1), (0.0, 4), (1.0, 1), (1.0, 4)].map(|(ratio, depth)| (ratio.into(), depth.into())));
    assert_eq!(plan.phases[0].running, ["primary"]);
    assert_eq!(plan.phases[1].running, ["primary"]);
    assert_eq!(plan.phases[2].running, ["primary", "writer"]);
    assert_eq!(plan.phases[3].label, "writer.write_ratio = 0.0, writer.iodepth = 4");
    assert_eq!(plan.duration_s(), 55.0);
}

#[test]
fn steps_keep_what_they_do_not_change() {
    let steps = "[plan]\nphase = \"10s\"\n[[plan.step]]\nstart = [\"n1\"]\n[[plan.step]]\nstart = [\"n2\"]\nset = { \"n1.write_ratio\" = 0.5 }\n[[plan.step]]\nstop = [\"n1\"]\nset = { \"n2.write_ratio\" = 1 }\n";
    let pair = WRITER.replace("name = \"writer\"", "name = \"n\"\ninstances = 2");
    let plan = plan_of(&format!("{PRIMARY}{pair}{steps}"));
    assert_eq!(ids(&plan), ["w0", "w1", "w2", "w3"]);
    let running: Vec<_> = plan.phases.iter().map(|phase| phase.running.join(" ")).collect();
    assert_eq!(running, ["primary", "primary n1", "primary n1 n2", "primary n2"]);
    assert_eq!(plan.phases[1].settings["n1.write_ratio"], 0.0);
    assert_eq!(plan.phases[2].settings["n1.write_ratio"], 0.5);
    assert_eq!(plan.phases[3].settings["n1.write_ratio"], 0.5);
    assert_eq!(plan.phases[3].settings["n2.write_ratio"], 1.0);
    assert_eq!(plan.phases[2].label, "start n2, n1.write_ratio = 0.5");
}

#[test]
fn a_timetable_opens_a_phase_at_every_change() {
    let pair = format!("{}script = \"20s: iodepth = 2; 30s: write_ratio = 0.5\"\n", WRITER)
        + &WRITER.replace("writer", "other")
        + "script = \"20s: iodepth = 8\"\n";
    let plan = plan_of(&format!("{PRIMARY}{pair}[plan]\nphase = \"40s\"\n"));
    let phases: Vec<_> = plan.phases.iter().map(|phase| (phase.label.as_str(), phase.duration_s)).collect();
    assert_eq!(
        phases,
        [
            ("no neighbour", 40.0),
            ("timetable begins", 20.0),
            ("writer.iodepth = 2, other.iodepth = 8", 10.0),
            ("writer.write_ratio = 0.5", 40.0),
        ]
    );
    assert_eq!(plan.phases[3].settings["writer.iodepth"], 2);
}

#[test]
fn neighbours_alone_come_first_once_per_setting() {
    let solo = "[plan]\nphase = \"10s\"\nsolo = true\nsolo_warmup = \"3s\"\nvary = { \"writer.iodepth\" = [1, 4] }\n";
    let plan = plan_of(&format!("{PRIMARY}{WRITER}{solo}"));
    assert_eq!(ids(&plan), ["s1", "s2", "w0", "w1", "w2"]);
    let alone = &plan.phases[..2];
    assert!(alone.iter().all(|phase| phase.kind == PhaseKind::Solo && phase.running == ["writer"]));
    assert_eq!((alone[0].settle_s, alone[1].settle_s), (3.0, 0.0));
    assert_eq!(alone[1].settings["writer.iodepth"], 4);
}

#[test]
fn a_neighbour_without_a_ladder_is_one_phase_and_no_neighbour_none() {
    let times = "[plan]\nphase = \"10s\"\nbaseline = \"30s\"\n";
    let with = plan_of(&format!("{PRIMARY}{WRITER}{times}"));
    assert_eq!(ids(&with), ["w0", "w1"]);
    assert_eq!((with.phases[0].duration_s, with.phases[1].label.as_str()), (30.0, "writer"));
    assert_eq!(ids(&plan_of(&format!("{PRIMARY}{times}"))), ["w0"]);
}

#[test]
fn without_a_primary_there_is_no_baseline() {
    let plan = plan_of(&format!("{WRITER}[plan]\nphase = \"10s\"\nvary = {{ \"writer.iodepth\" = [1, 4] }}\n"));
    assert_eq!(ids(&plan), ["w1", "w2"]);
    assert!(plan.primary().is_none());
}

#[test]
fn any_kind_can_be_primary_or_neighbour() {
    let io_primary = "[primary]\nkind = \"io\"\nfile_size = \"1MiB\"\n[[neighbour]]\nname = \"second\"\nkind = \"kv\"\nrecords = 10\n[plan]\nphase = \"10s\"\n";
    let plan = plan_of(io_primary);
    assert_eq!(plan.criterion.unit, "MiB/s");
    assert_eq!(plan.neighbours().next().unwrap().unit, "ops/s");
}

#[test]
fn the_primary_changes_by_ladder_and_by_timetable() {
    let ladder = "[plan]\nphase = \"10s\"\n[plan.vary]\n\"primary.rate\" = [1000, \"1000..5000 in 5s\"]\n";
    let plan = plan_of(&format!("{PRIMARY}engine = \"null\"\n{ladder}"));
    assert_eq!(ids(&plan), ["w0", "w1", "w2"]);
    assert_eq!(plan.phases[0].settings["primary.rate"], serde_json::Value::Null);
    assert_eq!(plan.phases[1].settings["primary.rate"], 1000.0);
    assert_eq!(plan.phases[2].settings["primary.rate"], "1000..5000 in 5s");
    assert_eq!(plan.phases[2].running, ["primary"]);
    let script = "script = \"10s: read_proportion = 0.5; 30s: rate = 5000\"\n[plan]\nphase = \"1m\"\n";
    let plan = plan_of(&format!("{WRITER}{PRIMARY}engine = \"null\"\n{script}"));
    assert_eq!(ids(&plan), ["w0", "w1", "w2", "w3"]);
    let lengths: Vec<f64> = plan.phases[1..].iter().map(|phase| phase.duration_s).collect();
    assert_eq!(lengths, [10.0, 20.0, 60.0]);
    assert_eq!(plan.phases[1].running, ["primary", "writer"]);
    assert_eq!(plan.phases[2].settings["primary.read_proportion"], 0.5);
    assert_eq!(plan.phases[3].settings["primary.rate"], 5000.0);
}

#[test]
fn what_shapes_a_primarys_data_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("e.toml");
    let text = "name = \"a test\"\n[device]\ndirectory = \"data\"\n[primary]\nengine = \"null\"\n[plan]\nphase = \"10s\"\n[plan.vary]\n\"primary.records\" = [1, 2]\n";
    fs::write(&path, text).unwrap();
    let error = file::load(&path, &[]).unwrap_err().to_string();
    assert!(error.contains("cannot change while"), "{error}");
}

#[test]
fn a_closing_phase_has_the_settings_and_the_length_of_w0() {
    let text = "[plan]\nphase = \"10s\"\nbaseline = \"20s\"\nsettle = \"3s\"\nclosing = true\nvary = { \"writer.iodepth\" = [4] }\n";
    let plan = plan_of(&format!("{PRIMARY}{WRITER}{text}"));
    assert_eq!(ids(&plan), ["w0", "w1", "closing"]);
    let [w0, _, closing] = plan.phases.as_slice() else { panic!() };
    assert_eq!((closing.kind, closing.duration_s, closing.settle_s), (PhaseKind::Baseline, 20.0, 3.0));
    assert_eq!((&closing.running, &closing.settings), (&w0.running, &w0.settings));
}

const INTERLEAVED: &str = "[plan]\ndesign = \"interleaved\"\nwarmup = \"5s\"\nrounds = 8\nblock = \"3s\"\nwashout = \"1s\"\n\
    vary = { \"writer.iodepth\" = [1, 4, 16] }\n";

#[test]
fn an_interleaved_plan_has_every_phase_once_in_every_round() {
    let plan = plan_of(&format!("{PRIMARY}{WRITER}{INTERLEAVED}"));
    assert_eq!(ids(&plan), ["warmup", "w0", "w1", "w2", "w3"]);
    let rounds = plan.interleaved.as_ref().unwrap();
    assert_eq!((rounds.rounds, rounds.orders.len(), rounds.block_s, rounds.washout_s), (8, 8, 3.0, 1.0));
    for order in &rounds.orders {
        let mut order = order.clone();
        order.sort();
        assert_eq!(order, ["w0", "w1", "w2", "w3"]);
    }
    assert!(!rounds.has("warmup") && plan.phases[1..].iter().all(|phase| rounds.has(&phase.id)));
    assert!(plan.phases[1..].iter().all(|phase| (phase.duration_s, phase.settle_s) == (16.0, 8.0)));
    assert_eq!(plan.duration_s(), 5.0 + 8.0 * 4.0 * 3.0);
    assert_eq!(plan.phases[3].settings["writer.iodepth"], 4);
    assert_eq!(plan.phases[1].running, ["primary"]);
}

#[test]
fn steps_take_turns_too_each_with_all_its_settings() {
    let steps = "[[plan.step]]\nstart = [\"writer\"]\n[[plan.step]]\nset = { \"writer.iodepth\" = 9 }\n";
    let interleaved = INTERLEAVED.replace("vary = { \"writer.iodepth\" = [1, 4, 16] }\n", steps);
    let plan = plan_of(&format!("{PRIMARY}{WRITER}{interleaved}"));
    assert_eq!(ids(&plan), ["warmup", "w0", "w1", "w2"]);
    assert_eq!(
        (&plan.phases[2].settings["writer.iodepth"], &plan.phases[3].settings["writer.iodepth"]),
        (&1.into(), &9.into())
    );
    assert_eq!(plan.interleaved.unwrap().orders[0].len(), 3);
}

#[test]
fn rounds_that_may_follow_are_planned_too() {
    let stop = INTERLEAVED.replace("rounds = 8", "rounds = 8\nstop = { interval = \"5%\", at_most = \"150s\" }");
    let plan = plan_of(&format!("{PRIMARY}{WRITER}{stop}"));
    let rounds = plan.interleaved.unwrap();
    assert_eq!((rounds.rounds, rounds.orders.len()), (8, 12), "twelve rounds of 12 s fit into 150 s");
}
