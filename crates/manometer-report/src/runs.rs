//! What runs are called where several are shown together.

use manometer_analysis::compare;

use crate::{Recorded, text};

/// What each of `recordings` is called: what a sweep set for it, and which of its repeats it is.
pub(crate) fn names<'a>(recordings: impl IntoIterator<Item = &'a Recorded>) -> Vec<String> {
    let recordings: Vec<&Recorded> = recordings.into_iter().collect();
    let repeats = compare::repeats(&recordings.iter().map(|recorded| &recorded.recording).collect::<Vec<_>>());
    // Numbers tell repeats apart: where nothing ran twice there is nothing to tell.
    let numbered = repeats.iter().any(|repeat| *repeat > 1);
    recordings.iter().zip(repeats).map(|(recorded, repeat)| name(recorded, numbered.then_some(repeat))).collect()
}

/// The same, and where two are called alike the folder's name with it: lines and panels need a name of their own.
pub(crate) fn distinct_names<'a>(recordings: impl IntoIterator<Item = &'a Recorded>) -> Vec<String> {
    let recordings: Vec<&Recorded> = recordings.into_iter().collect();
    let names = names(recordings.iter().copied());
    let alike = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    let folder = |recorded: &Recorded| {
        let name = recorded.recording.dir.file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_default()
    };
    let named = |(recorded, name): (&&Recorded, &String)| {
        if alike(name) { format!("{name} · {}", folder(recorded)) } else { name.clone() }
    };
    recordings.iter().zip(&names).map(named).collect()
}

fn name(recorded: &Recorded, repeat: Option<u32>) -> String {
    let Recorded { summary, settings, recording } = recorded;
    let kind = match (recording.plan.reference, settings.is_empty()) {
        (true, _) => "reference".to_owned(),
        (false, true) => summary.experiment.clone(),
        (false, false) => text::settings(settings),
    };
    repeat.map_or_else(|| kind.clone(), |repeat| format!("{kind} · repeat {repeat}"))
}
