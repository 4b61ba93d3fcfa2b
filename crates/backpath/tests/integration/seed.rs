//! The rules of Song 2018, section 3.2: lists by full path, and a walk over the subtree where permissions
//! change. Epochs have to end exactly the grants that the walk ends.

use std::collections::{BTreeMap, BTreeSet};

use backpath::{Attributes, Change, Credentials, Kind, Lookup, Options, PathCache, Principal};
use proptest::prelude::*;

#[derive(Default)]
struct Walked(BTreeMap<String, BTreeSet<u32>>);

impl Walked {
    fn grant(&mut self, path: &str, user: u32) {
        self.0.entry(path.to_owned()).or_default().insert(user);
    }

    /// Everything below, not the directory itself: nobody searches it to reach it.
    fn change_permission(&mut self, path: &str) {
        let below = format!("{path}/");
        self.0.iter_mut().filter(|(other, _)| other.starts_with(&below)).for_each(|(_, list)| list.clear());
        // The directory's own attributes are new: it has to be looked up again.
        self.0.remove(path);
    }

    fn rename(&mut self, path: &str) {
        let below = format!("{path}/");
        self.0.retain(|other, _| other != path && !other.starts_with(&below));
    }

    fn is_granted(&self, path: &str, user: u32) -> bool {
        self.0.get(path).is_some_and(|list| list.contains(&user))
    }
}

#[derive(Debug, Clone)]
enum Step {
    Grant(String, u32),
    ChangePermission(String),
    Rename(String),
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec("[ab]", 1..5).prop_map(|names| format!("/{}", names.join("/")))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (path(), 0..5_u32).prop_map(|(path, user)| Step::Grant(path, user)),
        1 => path().prop_map(Step::ChangePermission),
        1 => path().prop_map(Step::Rename),
    ]
}

/// What a walk that found this user allowed would do: the entry may be there already.
fn grant(cache: &PathCache<Attributes>, path: &str, user: &Principal) {
    let entry = Attributes::new(1, Kind::Directory, 0o755, 0, 0);
    assert!(cache.insert(cache.ticket(path.as_bytes()), path.as_bytes(), Some(&entry), user));
}

proptest! {
    #[test]
    fn epochs_end_the_grants_that_the_walk_ends(steps in prop::collection::vec(step(), 1..80)) {
        let cache = PathCache::new(Options { epoch_cells: Some(1 << 16), ..Options::default() });
        let users: Vec<Principal> = (0..5).map(|uid| cache.principal(&Credentials::new(uid, uid, &[]))).collect();
        let mut walked = Walked::default();
        for step in &steps {
            match step {
                Step::Grant(path, user) => {
                    grant(&cache, path, &users[*user as usize]);
                    walked.grant(path, *user);
                }
                Step::ChangePermission(path) => {
                    cache.change(&[Change::Permission(path.as_bytes())], || ()).unwrap();
                    walked.change_permission(path);
                }
                Step::Rename(path) => {
                    cache.change(&[Change::Subtree(path.as_bytes())], || ()).unwrap();
                    walked.rename(path);
                }
            }
            for path in steps.iter().map(|(Step::Grant(path, _) | Step::ChangePermission(path) | Step::Rename(path))| path) {
                for (uid, user) in users.iter().enumerate() {
                    let is_granted = matches!(cache.lookup(path.as_bytes(), user), Lookup::Hit(_));
                    prop_assert_eq!(is_granted, walked.is_granted(path, uid as u32), "{} for {} after {:?}", path, uid, step);
                }
            }
        }
    }
}
