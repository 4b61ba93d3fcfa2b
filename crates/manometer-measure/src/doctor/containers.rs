//! Container programs: podman and docker.

use super::{Check, CheckStatus, PROGRAM_TIMEOUT};
use crate::program::{self, ProgramError};

const WHY: &str = "run a workload as in production";

/// The answer of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Its version.
    Version(String),
    /// It is installed but cannot run containers.
    Refused(String),
    /// It is not installed.
    None,
}

/// podman or docker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerProgram {
    /// Its name.
    pub name: &'static str,
    /// Its answer to a request for its version.
    pub answer: Answer,
}

impl ContainerProgram {
    /// Reads the answers of both.
    pub fn read_all() -> Vec<Self> {
        let commands = [
            ("podman", ["version", "--format", "{{.Client.Version}}"]),
            ("docker", ["version", "--format", "{{.Server.Version}}"]),
        ];
        commands
            .into_iter()
            .map(|(name, words)| Self { name, answer: parse_answer(program::answer(name, &words, PROGRAM_TIMEOUT)) })
            .collect()
    }
}

fn parse_answer(answer: Result<String, ProgramError>) -> Answer {
    match answer {
        Ok(version) => Answer::Version(version.trim().to_owned()),
        Err(ProgramError::Missing(_)) => Answer::None,
        Err(ProgramError::Slow { milliseconds, .. }) => {
            Answer::Refused(format!("no answer within {} s", milliseconds / 1000))
        }
        Err(ProgramError::Refused { text, .. }) => Answer::Refused(text),
    }
}

/// The check of container programs.
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
    fn one_answer_is_enough() {
        let found = check(&programs(Answer::None, parse_answer(Ok("28.2.2\n".to_owned()))));
        assert_eq!((found.status, found.text.as_str()), (CheckStatus::Ok, "no podman; docker 28.2.2"));
    }

    #[test]
    fn a_program_without_its_daemon_is_limited() {
        let refused = parse_answer(Err(ProgramError::Refused {
            program: "docker".to_owned(),
            text: "Cannot connect".to_owned(),
        }));
        assert_eq!(refused, Answer::Refused("Cannot connect".to_owned()));
        assert_eq!(check(&programs(Answer::None, refused)).status, CheckStatus::Limited);
        let slow = parse_answer(Err(ProgramError::Slow { program: "docker".to_owned(), milliseconds: 5000 }));
        assert_eq!(slow, Answer::Refused("no answer within 5 s".to_owned()));
        let none = parse_answer(Err(ProgramError::Missing("podman".to_owned())));
        assert_eq!(check(&programs(none.clone(), none)).status, CheckStatus::Missing);
    }
}
