//! Pieces of sentences.

/// `sentence` with its first letter in upper case.
pub(crate) fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The first folder, and the number of the others.
pub(crate) fn shortened(dirs: &[String]) -> String {
    match dirs {
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
        [] => String::new(),
    }
}
