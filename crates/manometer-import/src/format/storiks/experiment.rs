//! Converts Storiks' parameters to an experiment file.

use std::collections::BTreeMap;

use manometer_measure::plan::Settings;
use serde_json::Value;

use super::neighbour::setting;
use super::parameters::Parameters;

/// A script's change: the time in seconds, the task, the setting.
type Step = (u64, usize, String);

/// The experiment file for `parameters`. What an experiment file cannot express becomes a comment.
pub(super) fn text(parameters: &Parameters, name: &str) -> String {
    let mut lines = vec![format!("name = {}", quoted(name)), String::new(), "[device]".to_owned()];
    lines.push("directory = \"manometer-data\"".to_owned());
    lines.extend(primary(parameters));
    let tasks = parameters.number("num_at").unwrap_or(0.0) as usize;
    if tasks > 0 {
        lines.extend(neighbours(parameters, tasks));
    }
    lines.extend(plan(parameters, tasks));
    lines.join("\n") + "\n"
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string().trim().to_owned()
}

/// The start of the primary's parameters, and its workload.
fn primary_workload(parameters: &Parameters) -> Option<(&'static str, String)> {
    let count = |name: &str| parameters.number(name).unwrap_or(0.0);
    if count("num_ydbs") > 0.0 {
        let file = parameters.of_task("ydb_workload", 0).unwrap_or("workloadb");
        let letter = file.rsplit('/').next().and_then(|name| name.strip_prefix("workload"));
        let letter = letter.filter(|letter| letter.len() == 1);
        return Some(("ydb", letter.map_or_else(|| file.to_owned(), |letter| format!("ycsb-{letter}"))));
    }
    let benchmark = || parameters.of_task("db_benchmark", 0).unwrap_or("readwhilewriting").to_owned();
    (count("num_dbs") > 0.0).then(|| ("db", benchmark()))
}

fn primary(parameters: &Parameters) -> Vec<String> {
    let mut lines = Vec::new();
    let Some((prefix, workload)) = primary_workload(parameters) else { return lines };
    lines.extend([String::new(), "[primary]".to_owned(), "engine = \"rocksdb\"".to_owned()]);
    lines.push(format!("workload = {}", quoted(&workload)));
    if prefix == "ydb" {
        lines.push("distribution = \"ycsb-zipfian\"".to_owned());
    }
    let whole =
        |name: &str| parameters.of_task(&format!("{prefix}_{name}"), 0).and_then(|value| value.parse::<u64>().ok());
    lines.extend(whole("num_keys").map(|records| format!("records = {records}")));
    lines.extend(whole("threads").map(|threads| format!("threads = {threads}")));
    if let Some(file) = parameters.get("rocksdb_config_file") {
        lines.push(format!("# RocksDB's options were those of {file}: name such a file as `options`."));
    }
    lines
}

/// Flags of `access_time3`: `--random_ratio=0.5 --direct_io`.
fn flags(text: &str) -> BTreeMap<String, String> {
    let words = shell_words::split(text).unwrap_or_default();
    let pair = |word: &String| {
        let word = word.strip_prefix("--")?;
        let (name, value) = word.split_once('=').unwrap_or((word, "true"));
        Some((name.to_owned(), value.to_owned()))
    };
    words.iter().filter_map(pair).collect()
}

/// The neighbours' settings, with Manometer's names.
fn neighbour_settings(parameters: &Parameters) -> Settings {
    let mut flags_set = flags(parameters.of_task("at_params", 0).unwrap_or_default());
    let direct = [
        ("at_block_size", "block_size"),
        ("at_iodepth", "iodepth"),
        ("at_io_engine", "io_engine"),
        ("at_o_dsync", "o_dsync"),
        ("at_o_direct", "o_direct"),
    ];
    for (theirs, flag) in direct {
        flags_set.extend(parameters.of_task(theirs, 0).map(|value| (flag.to_owned(), value.to_owned())));
    }
    let mut settings = Settings::new();
    settings.insert("file_size".to_owned(), Value::from("10GiB"));
    let own = flags_set.iter().filter_map(|(name, value)| setting(name, value));
    settings.extend(own.map(|(name, value)| (name.to_owned(), value)));
    if let Some(engine) = flags_set.get("io_engine").filter(|engine| ["libaio", "posix"].contains(&engine.as_str())) {
        settings.insert("io_engine".to_owned(), Value::from(engine.as_str()));
    }
    let is_on = |names: &[&str]| names.iter().any(|name| flags_set.get(*name).is_some_and(|value| value == "true"));
    // Without the flag it opens its files with O_DIRECT, as its help says.
    settings.insert("direct".to_owned(), Value::from(flags_set.get("o_direct").is_none_or(|value| value != "false")));
    settings.insert("dsync".to_owned(), Value::from(is_on(&["o_dsync", "dsync"])));
    settings
}

/// Settings that hold for the whole run, by `workload.setting`, by which runs may differ.
pub(super) fn settings(parameters: &Parameters) -> Settings {
    let mut settings = Settings::new();
    let tasks = parameters.number("num_at").unwrap_or(0.0) as u64;
    settings.insert("n.instances".to_owned(), Value::from(tasks));
    if tasks > 0 {
        let own = neighbour_settings(parameters);
        settings.extend(own.into_iter().map(|(name, value)| (format!("n.{name}"), value)));
    }
    let workload = primary_workload(parameters).map(|(_, workload)| workload);
    settings.extend(workload.map(|workload| ("primary.workload".to_owned(), Value::from(workload))));
    settings
}

fn neighbours(parameters: &Parameters, tasks: usize) -> Vec<String> {
    let mut lines =
        vec![String::new(), "[[neighbour]]".to_owned(), "name = \"n\"".to_owned(), "kind = \"io\"".to_owned()];
    if tasks > 1 {
        lines.push(format!("instances = {tasks}"));
    }
    lines.extend(neighbour_settings(parameters).iter().map(|(name, value)| format!("{name} = {value}")));
    lines
}

fn minutes(text: &str) -> Option<u64> {
    match text.strip_suffix('m') {
        Some(minutes) => minutes.parse::<u64>().ok()?.checked_mul(60),
        None => text.strip_suffix('s').unwrap_or(text).parse().ok(),
    }
}

/// The changes of `0:wait;40m:wait=false;48m:write_ratio=0.1#…`, a script per task, in order of time.
fn steps(parameters: &Parameters, tasks: usize) -> Vec<Step> {
    let mut steps: Vec<Step> = (0..tasks)
        .flat_map(|task| {
            let script = parameters.of_task("at_script", task).unwrap_or_default();
            script.split(';').filter_map(move |change| {
                let (time, what) = change.split_once(':')?;
                Some((minutes(time)?, task, what.to_owned()))
            })
        })
        .collect();
    steps.sort_by_key(|(time, task, _)| (*time, *task));
    steps
}

fn plan(parameters: &Parameters, tasks: usize) -> Vec<String> {
    let seconds = |name: &str| (parameters.number(name).unwrap_or(0.0) * 60.0) as u64;
    let (warm_up_s, end_s) = (seconds("warm_period"), seconds("duration"));
    let mut times: BTreeMap<u64, Vec<(usize, String)>> = BTreeMap::new();
    // A setting at the start shows once its task starts.
    let (at_begin, later): (Vec<Step>, Vec<Step>) =
        steps(parameters, tasks).into_iter().partition(|(time_s, _, _)| *time_s == 0);
    for (time_s, task, what) in later {
        let starts = what == "wait=false";
        let changes = times.entry(time_s).or_default();
        changes.push((task, what));
        if starts {
            let own = at_begin.iter().filter(|(_, of, what)| *of == task && !what.starts_with("wait"));
            changes.extend(own.map(|(_, _, what)| (task, what.clone())));
        }
    }
    let begins: Vec<u64> = times.keys().copied().filter(|time_s| *time_s < end_s).collect();
    let first_s = begins.first().copied().unwrap_or(end_s);
    let mut lines = vec![String::new(), "[plan]".to_owned()];
    if warm_up_s > 0 {
        lines.push(format!("warmup = \"{warm_up_s}s\""));
    }
    lines.push(format!("baseline = \"{}s\"", first_s.saturating_sub(warm_up_s).max(1)));
    let lengths = begins.iter().enumerate().map(|(number, begin_s)| begins.get(number + 1).unwrap_or(&end_s) - begin_s);
    let lengths: Vec<u64> = lengths.collect();
    lines.push(format!("phase = \"{}s\"", lengths.first().copied().unwrap_or(end_s.max(1)).max(1)));
    if begins.is_empty() {
        return lines;
    }
    lines.push("step = [".to_owned());
    for (begin_s, length_s) in begins.iter().zip(&lengths) {
        let change = step(&times[begin_s], tasks);
        let length =
            if Some(length_s) == lengths.first() { String::new() } else { format!(", phase = \"{length_s}s\"") };
        lines.push(format!("    {{ {change}{length} }},"));
    }
    lines.push("]".to_owned());
    lines
}

/// The changes at one time: starts, stops, settings.
fn step(changes: &[(usize, String)], tasks: usize) -> String {
    let name = |task: usize| if tasks > 1 { format!("n{}", task + 1) } else { "n".to_owned() };
    let (mut start, mut stop, mut set) = (Vec::new(), Vec::new(), Vec::new());
    for (task, what) in changes {
        match what.split_once('=').unwrap_or((what, "true")) {
            ("wait", "false") => start.push(quoted(&name(*task))),
            ("wait", _) => stop.push(quoted(&name(*task))),
            (setting_name, value) => {
                let value =
                    setting(setting_name, value).map(|(ours, value)| format!("\"{}.{ours}\" = {value}", name(*task)));
                set.extend(value);
            }
        }
    }
    let list = |word: &str, names: &[String]| (!names.is_empty()).then(|| format!("{word} = [{}]", names.join(", ")));
    let set = (!set.is_empty()).then(|| format!("set = {{ {} }}", set.join(", ")));
    [list("start", &start), list("stop", &stop), set].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slides_parameters_become_an_experiment() {
        let parameters = Parameters::parse(
            r##"--duration="46" --warm_period="30" --num_ydbs="1" --num_at="2" --ydb_workload="/x/workloadb" --ydb_num_keys="50000000" --ydb_threads="5" --at_block_size="128" --at_params="--flush_blocks=0 --random_ratio=0.5 --wait --direct_io" --at_script="0:wait;0:write_ratio=0;40m:wait=false;44m:write_ratio=0.1#0:wait;42m:wait=false""##,
        );
        let text = text(&parameters, "slides");
        let document: toml_edit::DocumentMut = text.parse().unwrap();
        assert_eq!(document["primary"]["workload"].as_str(), Some("ycsb-b"));
        assert_eq!(document["primary"]["records"].as_integer(), Some(50_000_000));
        assert_eq!(document["plan"]["warmup"].as_str(), Some("1800s"));
        assert_eq!(document["plan"]["baseline"].as_str(), Some("600s"));
        assert_eq!(document["plan"]["phase"].as_str(), Some("120s"));
        assert_eq!(document["plan"]["step"].as_array().unwrap().len(), 3);
        assert!(text.contains(r#"{ start = ["n1"], set = { "n1.write_ratio" = 0.0 } }"#), "{text}");
        assert!(text.contains(r#"{ set = { "n1.write_ratio" = 0.1 } }"#), "{text}");
        assert!(text.contains(r#"block_size = "128KiB""#), "{text}");
    }
}
