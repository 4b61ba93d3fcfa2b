//! A list of verbs: each is one module with `Args` and `run`.

/// Declares the verbs of a command: `Verb` parses them, `Verb::run` calls the module of the one that was given.
///
/// A verb takes one line, `Name => module`, and its `mod` line above.
macro_rules! verbs {
    ($($(#[$attribute:meta])* $name:ident => $module:ident,)+) => {
        #[derive(Debug, clap::Subcommand)]
        enum Verb {
            $($(#[$attribute])* $name(Box<$module::Args>),)+
        }

        impl Verb {
            fn run(&self) -> anyhow::Result<$crate::exit_status::ExitStatus> {
                match self {
                    $($(#[$attribute])* Self::$name(args) => $module::run(args),)+
                }
            }
        }
    };
}

pub(crate) use verbs;
