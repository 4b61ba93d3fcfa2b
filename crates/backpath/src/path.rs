//! Paths as bytes: their components, whether they are canonical, and the hashes of all their prefixes.
//!
//! A *canonical* path is `/` or `/NAME/NAME…` without empty components, `.`, `..` and a slash at its end. Inside the
//! crate the root is the empty path, so that every prefix of a path ends before a slash or at its end.

use crate::errno::Errno;

/// The most bytes of a component.
pub const NAME_MAX: usize = 255;
/// The most bytes of a path (`PATH_MAX` counts the byte 0 at the end of a C string).
pub const PATH_MAX: usize = 4095;

const WORD: usize = 8;
/// Paths of up to this many bytes are hashed without an allocation.
const INLINE_BYTES: usize = 256;
/// Two odd constants with as many bits set as not: the fractions of the golden ratio and of √3, in hexadecimal.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
const FINISH: u64 = 0xbb67_ae85_84ca_a73b;

/// The path inside the crate, if it is canonical. It may be longer than [`PATH_MAX`]: symbolic links lead to such paths.
#[inline]
pub(crate) fn canonical(path: &[u8]) -> Option<&[u8]> {
    match path {
        [b'/'] => Some(&[]),
        [b'/', .., last] if *last != b'/' && !has_special_component(path) => Some(path),
        _ => None,
    }
}

/// Whether a component is empty, `.` or `..`, or holds a zero byte. Names such as `.git` are rare enough for a second look.
#[inline]
fn has_special_component(path: &[u8]) -> bool {
    let suspect =
        |(&a, &b): (&u8, &u8)| u8::from(a == b'/') & (u8::from(b == b'/') | u8::from(b == b'.')) | u8::from(b == 0);
    let seen = path.iter().zip(&path[1..]).fold(0, |seen, pair| seen | suspect(pair));
    seen != 0
        && path[1..].split(|&byte| byte == b'/').any(|name| matches!(name, b"" | b"." | b"..") || name.contains(&0))
}

/// A step of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Component {
    /// A name.
    Name(Box<[u8]>),
    /// `..`
    Parent,
    /// `.` at the end of the path: the directory must be searched, though nothing is looked up in it.
    Here,
}

/// A path in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Components {
    /// In order.
    pub steps: Vec<Component>,
    /// It begins with a slash.
    pub is_absolute: bool,
    /// It ends with a slash: only a directory will do, and a symbolic link at the end is followed.
    pub needs_directory: bool,
}

impl Components {
    /// Takes a path to pieces. Length of names is judged where they are looked up, after permissions.
    pub fn parse(path: &[u8]) -> Result<Self, Errno> {
        match path.len() {
            0 => return Err(Errno::NotFound),
            length if length > PATH_MAX => return Err(Errno::NameTooLong),
            _ if path.contains(&0) => return Err(Errno::Invalid),
            _ => {}
        }
        let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).collect();
        let last = names.len().saturating_sub(1);
        let steps = names.iter().enumerate().filter_map(|(index, &name)| match name {
            b"." => (index == last).then_some(Component::Here),
            b".." => Some(Component::Parent),
            _ => Some(Component::Name(name.into())),
        });
        Ok(Self { steps: steps.collect(), is_absolute: path[0] == b'/', needs_directory: path.ends_with(b"/") })
    }
}

/// The path without its last component.
pub(crate) fn parent(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    &path[..end]
}

/// The path as its users write it.
pub(crate) fn displayed(path: &[u8]) -> &[u8] {
    if path.is_empty() { b"/" } else { path }
}

/// The lengths of a canonical path's prefixes, the whole first and the root, 0, last.
#[inline]
pub(crate) fn prefixes_backwards(path: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let inner = path.iter().enumerate().rev().filter(|&(_, &byte)| byte == b'/').map(|(at, _)| at);
    std::iter::once(path.len()).chain(inner)
}

/// The hashes of all prefixes of a path, computed in one pass over it.
///
/// The pass keeps its state after each word of eight bytes. The hash of a prefix is that state, mixed with the rest
/// of a word: a step backwards costs two multiplications and reads no byte before that word (Song 2018 hashes each
/// shortened path again). Collisions are harmless by construction: entries are compared by their paths.
pub(crate) struct PrefixHashes<'a> {
    path: &'a [u8],
    inline: [u64; INLINE_BYTES / WORD + 1],
    spilled: Vec<u64>,
}

impl<'a> PrefixHashes<'a> {
    /// One pass over `path`.
    #[inline]
    pub fn new(seed: u64, path: &'a [u8]) -> Self {
        let mut hashes = Self { path, inline: [seed; INLINE_BYTES / WORD + 1], spilled: Vec::new() };
        let mut state = seed;
        let words = path.chunks_exact(WORD);
        if path.len() <= INLINE_BYTES {
            for (slot, word) in hashes.inline[1..].iter_mut().zip(words) {
                state = mix(state ^ number(word), SPREAD);
                *slot = state;
            }
        } else {
            hashes.spilled.push(seed);
            hashes.spilled.extend(words.map(|word| {
                state = mix(state ^ number(word), SPREAD);
                state
            }));
        }
        hashes
    }

    /// The hash of the prefix of this length.
    #[inline]
    pub fn of(&self, length: usize) -> u64 {
        let words = length / WORD;
        let state = if self.spilled.is_empty() { self.inline[words] } else { self.spilled[words] };
        finish(state, tail(self.path, words * WORD, length), length)
    }
}

/// The hash of a whole path; the same as [`PrefixHashes`] gives for its full length.
#[inline]
pub(crate) fn hash(seed: u64, path: &[u8]) -> u64 {
    let words = path.chunks_exact(WORD);
    let state = words.fold(seed, |state, word| mix(state ^ number(word), SPREAD));
    finish(state, tail(path, path.len() / WORD * WORD, path.len()), path.len())
}

#[inline]
fn finish(state: u64, tail: u64, length: usize) -> u64 {
    mix(mix(state ^ tail, FINISH) ^ length as u64, SPREAD)
}

/// The bytes from `start`, the start of a word, to `end`, as a number.
#[inline]
fn tail(path: &[u8], start: usize, end: usize) -> u64 {
    let bits = 8 * (end - start);
    if bits == 0 {
        return 0;
    }
    match path.get(start..start + WORD) {
        Some(word) => number(word) & !(u64::MAX << bits),
        None if path.len() >= WORD => {
            number(&path[path.len() - WORD..]) >> (8 * (start + WORD - path.len())) & !(u64::MAX << bits)
        }
        None => path[start..end].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

#[inline]
fn number(word: &[u8]) -> u64 {
    word.try_into().map_or(0, u64::from_le_bytes)
}

/// Both halves of the product, so that every bit of the input reaches every bit of the result.
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn text(path: &[u8]) -> String {
        String::from_utf8_lossy(path).into_owned()
    }

    #[test]
    fn canonical_paths_are_told_from_others() {
        for good in ["/", "/a", "/a/b", "/.git/config", "/a/..b", "/a/b.", "/..."] {
            assert!(canonical(good.as_bytes()).is_some(), "{good}");
        }
        for bad in ["", "a", "a/b", "//", "/a/", "/a//b", "/.", "/..", "/a/.", "/a/../b", "/./a", "//a", "/a\0"] {
            assert!(canonical(bad.as_bytes()).is_none(), "{bad}");
        }
    }

    #[test]
    fn prefixes_run_from_the_whole_to_the_root() {
        let of = |path: &'static [u8]| prefixes_backwards(path).collect::<Vec<_>>();
        assert_eq!(of(b"/a/bc"), [5, 2, 0]);
        assert_eq!(of(b"/a"), [2, 0]);
        assert_eq!(of(b""), [0]);
    }

    #[test]
    fn components_keep_what_matters() {
        let parsed = Components::parse(b"/a/./b/../c/.").unwrap();
        let name = |name: &[u8]| Component::Name(name.into());
        assert_eq!(parsed.steps, [name(b"a"), name(b"b"), Component::Parent, name(b"c"), Component::Here]);
        assert!(parsed.is_absolute && !parsed.needs_directory);
        assert!(Components::parse(b"a/").unwrap().needs_directory);
        assert_eq!(Components::parse(b""), Err(Errno::NotFound));
        assert_eq!(Components::parse(b"/a\0b"), Err(Errno::Invalid));
        assert_eq!(Components::parse(&[b'a'; PATH_MAX + 1]), Err(Errno::NameTooLong));
    }

    proptest! {
        #[test]
        fn every_prefix_has_the_hash_of_the_path_it_is(
            names in prop::collection::vec("[a-z]{1,40}", 0..20), seed in any::<u64>(),
        ) {
            let path: String = names.iter().map(|name| format!("/{name}")).collect();
            let hashes = PrefixHashes::new(seed, path.as_bytes());
            for length in prefixes_backwards(path.as_bytes()) {
                prop_assert_eq!(hashes.of(length), hash(seed, &path.as_bytes()[..length]), "{}", text(&path.as_bytes()[..length]));
            }
        }

        #[test]
        fn a_canonical_path_is_the_join_of_its_components(path in "[a./]{0,12}") {
            let parsed = Components::parse(path.as_bytes());
            let joined = parsed.ok().filter(|parsed| parsed.is_absolute && !parsed.needs_directory).and_then(|parsed| {
                let names = parsed.steps.iter().map(|step| match step {
                    Component::Name(name) => Some(format!("/{}", text(name))),
                    _ => None,
                });
                names.collect::<Option<String>>()
            });
            let expected = path == "/" || joined.is_some_and(|joined| joined == path);
            prop_assert_eq!(canonical(path.as_bytes()).is_some(), expected);
        }
    }

    #[test]
    fn hashes_spread() {
        let paths = (0..100_000).map(|number| format!("/srv/archive/{}/{}/file-{number}", number % 100, number % 7));
        let hashes: Vec<u64> = paths.map(|path| hash(1, path.as_bytes())).collect();
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), hashes.len());
        let mut buckets = [0_u32; 256];
        hashes.iter().for_each(|hash| buckets[(hash >> 32) as usize % 256] += 1);
        // The mean is 391, the standard deviation 20.
        assert!(buckets.iter().all(|&count| (270..510).contains(&count)), "{buckets:?}");
    }
}
