//! Programs that fork, as Python's engine does even for one worker. A worker outlives its killed master for a while and
//! goes on taking messages, so a crash of the engine is a crash of the group.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Starts a program that leads a group of its own.
pub fn spawn(command: &mut Command) -> std::io::Result<Child> {
    command.process_group(0).spawn()
}

/// Ends the leader and all that it forked at once.
pub fn kill(leader: &mut Child) {
    let group = format!("-{}", leader.id());
    let _ = Command::new("kill")
        .args(["-s", "KILL", "--", &group])
        .stderr(Stdio::null())
        .status();
    let _ = leader.wait();
}
