//! Servers that are not ours and that several workloads of one run use.

use manometer_workload::settings::WorkloadSettings;

use crate::file::experiment::Experiment;

/// Why two workloads of `run` cannot use the same server: one would empty it of the other's records.
pub(super) fn emptied_by_another(run: &Experiment) -> Option<String> {
    let users: Vec<(&str, Vec<String>, bool)> = run
        .workloads()
        .filter_map(|workload| {
            let WorkloadSettings::Kv(kv) = &workload.settings else { return None };
            let (addresses, flush) = kv.servers()?;
            Some((workload.name.as_str(), addresses, flush))
        })
        .collect();
    let pairs =
        users.iter().enumerate().flat_map(|(place, one)| users[place + 1..].iter().map(move |other| (one, other)));
    pairs.filter(|((_, _, flush), (_, _, also))| *flush || *also).find_map(|((one, theirs, _), (other, others, _))| {
        let shared = theirs.iter().find(|address| others.contains(address))?;
        Some(format!(
            "`{one}` and `{other}` both use the server at {shared}, which `flush = true` has emptied before it is \
             loaded: one would take the other's records away; give each a server of its own"
        ))
    })
}
