//! What the checks mean together: what this host measures soundly, what with a caveat, and what not.

use serde::Serialize;

use super::{Check, CheckStatus};

/// Something that can be measured, with the checks that decide how well.
struct Ability {
    what: &'static str,
    /// Where one of these is missing, it cannot be measured.
    needs: &'static [&'static str],
    /// What these find affects the result.
    depends_on: &'static [&'static str],
}

const ABILITIES: [Ability; 6] = [
    Ability {
        what: "what neighbours on this disk cost",
        needs: &["file-system", "layers", "mount-options", "direct-io"],
        depends_on: &["libaio", "io-uring", "swap", "virtual-machine", "cpu-governor", "cpu-turbo", "nvme-power"],
    },
    Ability {
        what: "effects of the flash itself",
        needs: &["layers", "device"],
        depends_on: &["virtual-disk", "device", "alignment", "device-health"],
    },
    Ability { what: "durable writes", needs: &["dsync"], depends_on: &["mount-options", "virtual-disk"] },
    Ability { what: "limits by control groups", needs: &["cgroup"], depends_on: &[] },
    Ability { what: "workloads in containers", needs: &["containers"], depends_on: &["cgroup"] },
    Ability { what: "traces of the device's requests", needs: &["layers", "block-trace"], depends_on: &[] },
];

/// How well something can be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// What.
    pub what: &'static str,
    /// The checks to read; none where it is sound.
    pub checks: Vec<&'static str>,
}

/// What this host measures soundly, what with a caveat, and what not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Verdict {
    /// What it measures soundly.
    pub sound: Vec<Judgement>,
    /// What it measures with a caveat.
    pub limited: Vec<Judgement>,
    /// What it cannot measure.
    pub missing: Vec<Judgement>,
}

impl Verdict {
    /// The verdict of `checks`.
    pub fn of(checks: &[Check]) -> Self {
        let status = |id: &str| checks.iter().find(|check| check.id == id).map(|check| check.status);
        let mut verdict = Self::default();
        for Ability { what, needs, depends_on } in ABILITIES {
            let of_status = |ids: &'static [&'static str], statuses: &[CheckStatus]| -> Vec<&'static str> {
                ids.iter().copied().filter(|id| status(id).is_some_and(|status| statuses.contains(&status))).collect()
            };
            let missing = of_status(needs, &[CheckStatus::Missing]);
            if !missing.is_empty() {
                verdict.missing.push(Judgement { what, checks: missing });
                continue;
            }
            let mut checks = of_status(needs, &[CheckStatus::Limited]);
            let also = of_status(depends_on, &[CheckStatus::Limited, CheckStatus::Missing]);
            checks.extend(also.into_iter().filter(|id| !needs.contains(id)));
            let judged = if checks.is_empty() { &mut verdict.sound } else { &mut verdict.limited };
            judged.push(Judgement { what, checks });
        }
        verdict
    }

    /// The verdict as sentences.
    pub fn text(&self) -> String {
        let list = |judged: &[Judgement]| {
            let one = |judged: &Judgement| match judged.checks.is_empty() {
                true => judged.what.to_owned(),
                false => format!("{} ({})", judged.what, judged.checks.join(", ")),
            };
            judged.iter().map(one).collect::<Vec<_>>().join("; ")
        };
        let first = match self.sound.is_empty() {
            true => "This host measures nothing without a caveat.".to_owned(),
            false => format!("This host measures soundly: {}.", list(&self.sound)),
        };
        let others = [("With the caveats in brackets: ", &self.limited), ("Not here: ", &self.missing)];
        let others = others.into_iter().filter(|(_, judged)| !judged.is_empty());
        let others = others.map(|(begin, judged)| format!("{begin}{}.", list(judged)));
        std::iter::once(first).chain(others).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    fn names(judged: &[Judgement]) -> Vec<&str> {
        judged.iter().map(|one| one.what).collect()
    }

    #[test]
    fn every_ability_rests_on_checks_that_exist() {
        let checks = recorded::nvme().checks();
        for ability in ABILITIES {
            for id in ability.needs.iter().chain(ability.depends_on) {
                assert!(checks.iter().any(|check| check.id == *id), "{id}");
            }
        }
    }

    #[test]
    fn each_ability_is_judged_once_and_names_its_checks() {
        for facts in [recorded::nvme(), recorded::virtual_machine(), recorded::without_device("tmpfs")] {
            let verdict = Verdict::of(&facts.checks());
            assert_eq!(verdict.sound.len() + verdict.limited.len() + verdict.missing.len(), ABILITIES.len());
            assert!(verdict.sound.iter().all(|one| one.checks.is_empty()));
            assert!(verdict.limited.iter().chain(&verdict.missing).all(|one| !one.checks.is_empty()));
        }
    }

    #[test]
    fn a_virtual_disk_limits_what_is_said_of_flash_and_a_file_system_in_memory_has_no_disk() {
        let verdict = Verdict::of(&recorded::virtual_machine().checks());
        let flash = verdict.limited.iter().find(|one| one.what == "effects of the flash itself").unwrap();
        assert!(flash.checks.contains(&"virtual-disk"), "{verdict:?}");
        let in_memory = Verdict::of(&recorded::without_device("tmpfs").checks());
        assert!(names(&in_memory.missing).contains(&"what neighbours on this disk cost"), "{in_memory:?}");
        assert!(in_memory.text().contains("Not here: what neighbours on this disk cost (file-system, layers"));
    }
}
