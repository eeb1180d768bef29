//! What starts a worker process.

use std::collections::BTreeMap;
use std::path::PathBuf;

#[cfg(feature = "servers")]
use tokio::process::Command;

/// A program with its arguments, and where and with which environment it is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its working directory; `None`: that of this process.
    pub directory: Option<PathBuf>,
    /// Variables that are added to the environment of this process, or of the container.
    pub environment: BTreeMap<String, String>,
    /// The image of the container that the worker lives in; `None`: it is a process of this machine. With
    /// an image `argv` is what carries the container's standard streams, and gets its name as last word.
    pub image: Option<String>,
}

impl WorkerCommand {
    /// A program in the working directory of this process, with its environment.
    pub fn new(argv: Vec<String>) -> WorkerCommand {
        WorkerCommand {
            argv,
            ..WorkerCommand::default()
        }
    }

    /// A container of this image. `argv` is what carries its standard streams.
    pub fn in_container(image: &str, argv: Vec<String>) -> WorkerCommand {
        WorkerCommand {
            image: Some(image.to_owned()),
            ..WorkerCommand::new(argv)
        }
    }

    /// The words to start. A relative path of the program is taken from the working directory that the
    /// program gets: whether the operating system does that too is not specified.
    #[cfg(feature = "servers")]
    pub(crate) fn argv_to_start(&self) -> Vec<String> {
        let mut argv = self.argv.clone();
        if let (Some(directory), Some(program)) = (&self.directory, argv.first_mut())
            && program.contains('/')
            && let Some(path) = directory.join(program.as_str()).to_str()
        {
            *program = path.to_owned();
        }
        argv
    }

    /// Sets the directory and the environment of a command that is about to start.
    #[cfg(feature = "servers")]
    pub(crate) fn prepare(&self, command: &mut Command) {
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        // A container has an environment of its own.
        if self.image.is_none() {
            command.envs(&self.environment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(directory: Option<&str>, program: &str) -> String {
        let command = WorkerCommand {
            directory: directory.map(PathBuf::from),
            ..WorkerCommand::new(vec![program.to_owned(), "a/b".to_owned()])
        };
        let mut argv = command.argv_to_start();
        assert_eq!(argv.pop().as_deref(), Some("a/b"));
        argv.pop().unwrap()
    }

    #[test]
    fn only_a_relative_path_depends_on_the_directory() {
        assert_eq!(program(Some("/home/me"), "python3"), "python3");
        assert_eq!(program(Some("/home/me"), "./my-lock"), "/home/me/./my-lock");
        assert_eq!(program(Some("/home/me"), "/bin/lock"), "/bin/lock");
        assert_eq!(program(None, "./my-lock"), "./my-lock");
    }
}
