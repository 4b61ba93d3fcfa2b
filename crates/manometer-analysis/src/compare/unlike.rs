//! What should be equal where recordings are compared, and is not.

use super::{Run, Warning};

/// One warning for each condition in which `runs` are unlike, with what it is where.
///
/// What is not recorded anywhere is no difference; what is recorded in some only cannot be told.
pub fn unlike<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<Warning> {
    let runs: Vec<&Run> = runs.into_iter().collect();
    let Some(first) = runs.first() else { return Vec::new() };
    let names = first.conditions.iter().map(|(name, _)| *name);
    names.filter_map(|name| difference(name, &runs)).collect()
}

fn difference(name: &str, runs: &[&Run]) -> Option<Warning> {
    let mut seen: Vec<(&str, Vec<String>)> = Vec::new();
    for run in runs {
        let (_, value) = run.conditions.iter().find(|(known, _)| *known == name)?;
        let Some(value) = value.as_deref() else { continue };
        let place = run.dir.display().to_string();
        match seen.iter_mut().find(|(known, _)| *known == value) {
            Some((_, places)) => places.push(place),
            None => seen.push((value, vec![place])),
        }
    }
    if seen.len() < 2 {
        return None;
    }
    let where_what: Vec<String> = seen.iter().map(|(value, places)| format!("`{value}` in {}", few(places))).collect();
    let text = format!(
        "The {name} is not the same: {}. A difference between them may come from that alone.",
        where_what.join(", ")
    );
    Some(Warning { id: format!("unlike-{}", name.to_lowercase().replace([' ', '/'], "-")), text })
}

/// The first places, and how many more.
fn few(places: &[String]) -> String {
    match places {
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
        [] => String::new(),
    }
}
