//! A program in several processes, so that the CPU time of each is its own.
#![allow(dead_code, reason = "each bench uses what it needs")]

use std::{
    env,
    error::Error,
    ffi::OsStr,
    io::{BufRead, BufReader, Lines, Write, stdout},
    process::{Child, ChildStdout, Command, Stdio},
};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// This program with other arguments; it ends with this value.
pub(crate) struct Process {
    pub(crate) child: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(crate) fn start<const N: usize>(arguments: [&OsStr; N]) -> Outcome<Self> {
        let mut command = Command::new(env::current_exe()?);
        let mut child =
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        Ok(Self { child, output })
    }

    /// The next line that it writes.
    pub(crate) fn line(&mut self) -> Outcome<String> {
        Ok(self.output.next().ok_or("a process has failed")??)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[expect(clippy::print_stdout, reason = "what is measured is output")]
pub(crate) fn say(text: &str) -> Outcome<()> {
    println!("{text}");
    Ok(stdout().flush()?)
}
