//! The jobs of the clients that share one workload.

use manometer_target::engine::StorageKind;
use manometer_target::engine::directory::DatabaseReuse;
use manometer_workload::interface::ClientShare;
use manometer_workload::kv::{KvPlan, KvSettings, RateForm};
use manometer_workload::replay::ReplaySettings;
use manometer_workload::settings::WorkloadSettings;
use serde_json::{Value, json};

use crate::protocol::{ClientGroup, Job};

/// The most clients of one workload.
pub const CLIENTS_MAX: u32 = 64;

/// Checks that `group` can share the workload `settings`.
///
/// # Errors
/// It cannot: the setting at fault, and a text that says what would be right.
pub fn check_clients(group: &ClientGroup, settings: &WorkloadSettings) -> Result<(), (String, String)> {
    let wrong = |setting: &str, text: String| Err((setting.to_owned(), text));
    if !(1..=CLIENTS_MAX).contains(&group.count) {
        return wrong("clients", format!("`clients` = {}: write a number from 1 to {CLIENTS_MAX}", group.count));
    }
    if group.hosts.iter().any(|host| host.trim().is_empty()) {
        let text = "`hosts` has an empty command: write one such as `ssh node2 manometer`, or `local`";
        return wrong("hosts", text.to_owned());
    }
    let share = ClientShare { part: 0, of: group.count };
    match settings {
        WorkloadSettings::Kv(kv) => check_kv(kv, share).or_else(|(setting, text)| wrong(setting, text)),
        WorkloadSettings::Replay(replay) => {
            WorkloadSettings::Replay(ReplaySettings { share: Some(share), ..replay.clone() }).validate(1)
        }
        other => wrong("clients", format!("a workload of the kind `{}` has one client: leave it out", other.kind())),
    }
}

fn check_kv(kv: &KvSettings, share: ClientShare) -> Result<(), (&'static str, String)> {
    if kv.script.is_some() {
        let text = "a timetable changes the settings of one client: leave `script` or `clients` out";
        return Err(("script", text.to_owned()));
    }
    if let Some(operations) = kv.operations.filter(|operations| *operations < u64::from(share.of)) {
        let text = format!("{operations} operations leave none for some of {} clients: write more", share.of);
        return Err(("operations", text));
    }
    share_of_kv(kv, share).map_err(|text| ("rate", text))?;
    // What is wrong with the settings themselves is reported elsewhere.
    let Ok(plan) = KvPlan::new(kv) else { return Ok(()) };
    if plan.engine.storage != StorageKind::Nothing && !plan.options.use_external_server() {
        let text = "several clients cannot open one database, or each starts a server of its own: name a server with the \
                    option `address`";
        return Err(("engine", text.to_owned()));
    }
    match plan.spec.unstable() {
        Some(what) => Err((
            "workload",
            format!("the workload is for one client, since {what}: several would do that with the same ones"),
        )),
        None => Ok(()),
    }
}

/// The job of one client.
///
/// # Errors
/// A setting cannot be divided.
pub(super) fn job_of(job: &Job, share: ClientShare) -> Result<Job, String> {
    let is_first = share.part == 0;
    let workload = match &job.workload {
        WorkloadSettings::Kv(kv) => WorkloadSettings::Kv(share_of_kv(kv, share)?),
        WorkloadSettings::Replay(replay) => {
            WorkloadSettings::Replay(ReplaySettings { share: Some(share), ..replay.clone() })
        }
        other => other.clone(),
    };
    let existing = if is_first { job.existing } else { DatabaseReuse::Reuse };
    Ok(Job { existing, workload, clients: None, share: Some(share), removes: job.removes && is_first, ..job.clone() })
}

/// The settings of one client: its part of the rate and of the operations, and all others as written.
fn share_of_kv(kv: &KvSettings, share: ClientShare) -> Result<KvSettings, String> {
    let rate = kv.rate.as_ref().map(|rate| part_of_rate(rate, share)).transpose()?;
    let operations = kv.operations.map(|operations| part_of(operations, share));
    Ok(KvSettings { rate, operations, ..kv.clone() })
}

/// The value of the setting `name` for one client, where all together have `value`.
///
/// # Errors
/// It cannot be divided.
pub(super) fn setting_of(name: &str, value: &Value, share: ClientShare) -> Result<Value, String> {
    match (name, value) {
        ("rate", Value::Null) => Ok(Value::Null),
        ("rate", value) => {
            let rate: RateForm = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
            Ok(json!(part_of_rate(&rate, share)?))
        }
        _ => Ok(value.clone()),
    }
}

fn part_of_rate(rate: &RateForm, share: ClientShare) -> Result<RateForm, String> {
    rate.times(1.0 / f64::from(share.of)).ok_or_else(|| {
        "the rate of several clients cannot be a table: write it as steps, such as `0s: 1000, 10m: 5000`".to_owned()
    })
}

/// The part of a number: all parts add up to it.
fn part_of(all: u64, share: ClientShare) -> u64 {
    let [part, of] = [share.part, share.of].map(u64::from);
    all / of + u64::from(part < all % of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kv(text: &Value) -> WorkloadSettings {
        serde_json::from_value(json!({ "kind": "kv", "settings": text })).unwrap()
    }

    fn refusal(text: &Value, count: u32) -> String {
        let group = ClientGroup { count, hosts: Vec::new(), on_lost: super::super::OnLost::Stop };
        check_clients(&group, &kv(text)).err().map(|(_, text)| text).unwrap_or_default()
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        let shares = |of| (0..of).map(move |part| ClientShare { part, of });
        for of in [1, 2, 3, 7, 64] {
            assert_eq!(shares(of).map(|share| part_of(1000, share)).sum::<u64>(), 1000);
            let rate = |share| setting_of("rate", &json!(900), share).unwrap().as_f64().unwrap();
            assert!((shares(of).map(rate).sum::<f64>() - 900.0).abs() < 1e-9);
        }
        let half = ClientShare { part: 1, of: 2 };
        for (whole, part) in [
            ("1000..5000 in 10m", "500..2500 in 10m"),
            ("0s: 10, 1m: 30", "0s: 5, 1m: 15"),
            ("sine mean=50 amplitude=20 period=1m phase=0.25", "sine mean=25 amplitude=10 period=1m phase=0.25"),
        ] {
            let expected: RateForm = part.parse().unwrap();
            assert_eq!(setting_of("rate", &json!(whole), half), Ok(json!(expected)), "{whole}");
        }
        assert_eq!(setting_of("rate", &Value::Null, half), Ok(Value::Null));
        assert_eq!(setting_of("threads", &json!(8), half), Ok(json!(8)));
    }

    #[test]
    fn what_clients_cannot_share_is_refused() {
        let reads = json!({ "engine": "null", "workload": "ycsb-c", "records": 10 });
        assert_eq!(refusal(&reads, 4), "");
        assert!(refusal(&reads, 0).contains("from 1 to 64") && refusal(&reads, 65).contains("from 1 to 64"));
        let inserts = json!({ "engine": "null", "workload": "ycsb-d", "records": 10 });
        assert!(refusal(&inserts, 2).contains("it inserts records"));
        let table = json!({ "engine": "null", "workload": "ycsb-c", "records": 10, "rate": "csv:rates.csv#ops" });
        assert!(refusal(&table, 2).contains("cannot be a table"));
        let few = json!({ "engine": "null", "workload": "ycsb-c", "records": 10, "operations": 5 });
        assert!(refusal(&few, 16).contains("5 operations leave none for some of 16 clients"));
        assert_eq!(refusal(&few, 5), "");
    }
}
