//! Programs that run containers.

use super::{Check, CheckStatus, PATIENCE};
use crate::program::{self, ProgramError};

const WHY: &str = "run a workload as production does";

/// How a program answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// With its version.
    Version(String),
    /// It is there, and cannot run containers.
    Refused(String),
    /// It is not installed.
    None,
}

/// podman or docker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerProgram {
    /// Its name.
    pub name: &'static str,
    /// How it answered when asked for its version.
    pub answer: Answer,
}

impl ContainerProgram {
    /// Asks both.
    pub fn read_all() -> Vec<Self> {
        let asked = [
            ("podman", ["version", "--format", "{{.Client.Version}}"]),
            ("docker", ["version", "--format", "{{.Server.Version}}"]),
        ];
        asked
            .into_iter()
            .map(|(name, words)| Self { name, answer: heard(program::answer(name, &words, PATIENCE)) })
            .collect()
    }
}

fn heard(answer: Result<String, ProgramError>) -> Answer {
    match answer {
        Ok(version) => Answer::Version(version.trim().to_owned()),
        Err(ProgramError::Missing(_)) => Answer::None,
        Err(ProgramError::Slow { milliseconds, .. }) => {
            Answer::Refused(format!("no answer within {} s", milliseconds / 1000))
        }
        Err(ProgramError::Refused { text, .. }) => Answer::Refused(text),
    }
}

/// What they are good for.
pub fn check(programs: &[ContainerProgram]) -> Check {
    let text = |one: &ContainerProgram| match &one.answer {
        Answer::Version(version) => format!("{} {version}", one.name),
        Answer::Refused(reason) => format!("{}: {reason}", one.name),
        Answer::None => format!("no {}", one.name),
    };
    let texts = programs.iter().map(text).collect::<Vec<_>>().join("; ");
    let any = |wanted: fn(&Answer) -> bool| programs.iter().any(|one| wanted(&one.answer));
    if any(|answer| matches!(answer, Answer::Version(_))) {
        return Check::new("containers", CheckStatus::Ok, texts, WHY);
    }
    if any(|answer| matches!(answer, Answer::Refused(_))) {
        return Check::new("containers", CheckStatus::Limited, texts, WHY).remedy("systemctl start docker");
    }
    Check::new("containers", CheckStatus::Missing, texts, WHY).remedy("apt-get install podman")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(podman: Answer, docker: Answer) -> Vec<ContainerProgram> {
        vec![ContainerProgram { name: "podman", answer: podman }, ContainerProgram { name: "docker", answer: docker }]
    }

    #[test]
    fn one_that_answers_is_enough() {
        let found = check(&programs(Answer::None, heard(Ok("28.2.2\n".to_owned()))));
        assert_eq!((found.status, found.text.as_str()), (CheckStatus::Ok, "no podman; docker 28.2.2"));
    }

    #[test]
    fn one_without_its_daemon_is_limited() {
        let refused =
            heard(Err(ProgramError::Refused { program: "docker".to_owned(), text: "Cannot connect".to_owned() }));
        assert_eq!(refused, Answer::Refused("Cannot connect".to_owned()));
        assert_eq!(check(&programs(Answer::None, refused)).status, CheckStatus::Limited);
        let slow = heard(Err(ProgramError::Slow { program: "docker".to_owned(), milliseconds: 5000 }));
        assert_eq!(slow, Answer::Refused("no answer within 5 s".to_owned()));
        let none = heard(Err(ProgramError::Missing("podman".to_owned())));
        assert_eq!(check(&programs(none.clone(), none)).status, CheckStatus::Missing);
    }
}
