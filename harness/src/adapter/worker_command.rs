//! The command that starts a worker process.

use std::collections::BTreeMap;
use std::path::PathBuf;

#[cfg(feature = "servers")]
use tokio::process::Command;

/// A program with its arguments, its working directory and its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The working directory, or `None` for the working directory of this process.
    pub directory: Option<PathBuf>,
    /// Variables that are added to the environment of this process, or of the container.
    pub environment: BTreeMap<String, String>,
    /// The image of the container in which the worker runs, or `None` for a process of this machine. With an image,
    /// `argv` is the command that attaches to the container's standard streams, without its last argument, the
    /// container's name.
    pub image: Option<String>,
}

impl WorkerCommand {
    /// Creates a command that runs in the working directory of this process, with its environment.
    pub fn new(argv: Vec<String>) -> WorkerCommand {
        WorkerCommand {
            argv,
            ..WorkerCommand::default()
        }
    }

    /// Creates a command for a container of this image. `argv` attaches to its standard streams.
    pub fn in_container(image: &str, argv: Vec<String>) -> WorkerCommand {
        WorkerCommand {
            image: Some(image.to_owned()),
            ..WorkerCommand::new(argv)
        }
    }

    /// Returns the command line to start. A relative path of the program is resolved against the program's own working
    /// directory, because operating systems differ in this.
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
        // A container has its own environment.
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
