//! Where lines go: stderr, a file, syslog.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::Level;

use super::LoggingError;
use crate::settings::LoggingSettings;

const SYSLOG_SOCKET: &str = "/dev/log";

/// How often a log file is looked for under its name: logrotate may have moved it without telling.
const LOOK_FOR_FILE_EVERY: Duration = Duration::from_secs(1);

pub enum Output {
    Stderr,
    File(Mutex<LogFile>),
    Syslog { socket: UnixDatagram, facility: u8 },
}

impl Output {
    /// What the options ask for; stderr when they ask for nothing.
    pub fn all(settings: &LoggingSettings) -> Result<Vec<Output>, LoggingError> {
        let mut outputs = Vec::new();
        let file = log_file_path(settings);
        if let Some(path) = &file {
            let file = LogFile::open(path).map_err(|source| LoggingError::File {
                path: path.clone(),
                source,
            })?;
            outputs.push(Output::File(Mutex::new(file)));
        }
        if is_on_stderr(settings) {
            outputs.push(Output::Stderr);
        }
        if settings.use_syslog {
            let facility = facility(&settings.syslog_log_facility)?;
            let socket = UnixDatagram::unbound().map_err(LoggingError::Syslog)?;
            socket.connect(SYSLOG_SOCKET).map_err(LoggingError::Syslog)?;
            outputs.push(Output::Syslog { socket, facility });
        }
        Ok(outputs)
    }

    /// A line that cannot be written is lost: there is nowhere left to complain.
    pub fn write(&self, level: Level, line: &str) {
        match self {
            Output::Stderr => {
                let _ = io::stderr().lock().write_all(line.as_bytes());
            }
            Output::File(file) => file.lock().unwrap_or_else(PoisonError::into_inner).write(line),
            Output::Syslog { socket, facility } => {
                let priority = u32::from(*facility) * 8 + syslog_severity(level);
                let message = format!("<{priority}>heat-engine-rs: {}", line.trim_end());
                let _ = socket.send(message.as_bytes());
            }
        }
    }

    pub fn reopen(&self) {
        if let Output::File(file) = self {
            file.lock().unwrap_or_else(PoisonError::into_inner).reopen();
        }
    }
}

pub fn is_on_stderr(settings: &LoggingSettings) -> bool {
    settings.use_stderr || (log_file_path(settings).is_none() && !settings.use_journal)
}

/// Whether [`Output::all`] would open everything. A log file that is not there yet is not made.
pub fn check(settings: &LoggingSettings) -> Result<(), LoggingError> {
    if let Some(path) = log_file_path(settings) {
        check_directory(settings, &path)?;
        check_file(&path).map_err(|source| LoggingError::File { path, source })?;
    }
    if settings.use_syslog {
        facility(&settings.syslog_log_facility)?;
        let socket = UnixDatagram::unbound().map_err(LoggingError::Syslog)?;
        socket.connect(SYSLOG_SOCKET).map_err(LoggingError::Syslog)?;
    }
    Ok(())
}

fn check_directory(settings: &LoggingSettings, file: &Path) -> Result<(), LoggingError> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Some(missing) = directory.filter(|directory| !directory.is_dir()) else {
        return Ok(());
    };
    let is_log_dir = settings.log_dir.as_deref().is_some_and(|directory| !directory.is_dir());
    Err(LoggingError::NoDirectory {
        path: missing.to_owned(),
        option: if is_log_dir { "log_dir" } else { "log_file" },
    })
}

/// What a check made would belong to whoever checks, and the daemon could not write to it: so a file that is not there is
/// tried with another, which goes again.
fn check_file(path: &Path) -> io::Result<()> {
    match OpenOptions::new().append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut trial = path.as_os_str().to_owned();
            trial.push(format!(".trial-{}", std::process::id()));
            OpenOptions::new().create_new(true).append(true).open(&trial)?;
            std::fs::remove_file(&trial)
        }
        tried => tried.map(drop),
    }
}

/// `log_file`, in `log_dir` if that is given; `log_dir` alone: a file called as the program.
pub fn log_file_path(settings: &LoggingSettings) -> Option<PathBuf> {
    match (&settings.log_dir, &settings.log_file) {
        (None, None) => None,
        (None, Some(file)) => Some(file.clone()),
        (Some(directory), Some(file)) => Some(directory.join(file)),
        (Some(directory), None) => Some(directory.join(format!("{}.log", program_name()))),
    }
}

fn program_name() -> String {
    let program = std::env::args_os().next().map(PathBuf::from);
    let name = program
        .as_deref()
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "heat-engine-rs".to_owned())
}

pub struct LogFile {
    path: PathBuf,
    file: File,
    looked_at: Instant,
}

impl LogFile {
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(LogFile {
            path: path.to_owned(),
            file,
            looked_at: Instant::now(),
        })
    }

    fn write(&mut self, line: &str) {
        if self.looked_at.elapsed() >= LOOK_FOR_FILE_EVERY {
            self.looked_at = Instant::now();
            if !self.is_in_place() {
                self.reopen();
            }
        }
        let _ = self.file.write_all(line.as_bytes());
    }

    fn is_in_place(&self) -> bool {
        match (std::fs::metadata(&self.path), self.file.metadata()) {
            (Ok(named), Ok(open)) => (named.dev(), named.ino()) == (open.dev(), open.ino()),
            _ => false,
        }
    }

    /// The old file is kept where no new one can be made (a full disk, a directory that is gone).
    fn reopen(&mut self) {
        match Self::open(&self.path) {
            Ok(anew) => *self = anew,
            Err(error) => {
                let _ = writeln!(io::stderr(), "cannot open {} anew: {error}", self.path.display());
            }
        }
    }
}

fn syslog_severity(level: Level) -> u32 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}

/// The number of `LOG_DAEMON`, `daemon`, `LOG_LOCAL3`, …
pub fn facility(name: &str) -> Result<u8, LoggingError> {
    let upper = name.to_uppercase();
    let number = match upper.strip_prefix("LOG_").unwrap_or(&upper) {
        "KERN" => 0,
        "USER" => 1,
        "MAIL" => 2,
        "DAEMON" => 3,
        "AUTH" => 4,
        "SYSLOG" => 5,
        "LPR" => 6,
        "NEWS" => 7,
        "UUCP" => 8,
        "CRON" => 9,
        "AUTHPRIV" => 10,
        "FTP" => 11,
        local => match local.strip_prefix("LOCAL").and_then(|digit| digit.parse::<u8>().ok()) {
            Some(digit @ 0..=7) => 16 + digit,
            _ => return Err(LoggingError::UnknownFacility(name.to_owned())),
        },
    };
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn path(directory: Option<&str>, file: Option<&str>) -> Option<PathBuf> {
        let mut logging = Settings::defaults().logging;
        logging.log_dir = directory.map(PathBuf::from);
        logging.log_file = file.map(PathBuf::from);
        log_file_path(&logging)
    }

    #[test]
    fn a_log_file_is_where_oslo_log_puts_it() {
        assert_eq!(path(None, None), None);
        assert_eq!(path(None, Some("a.log")), Some("a.log".into()));
        assert_eq!(
            path(Some("/var/log/heat"), Some("a.log")),
            Some("/var/log/heat/a.log".into())
        );
        assert_eq!(
            path(Some("/var/log/heat"), Some("/tmp/a.log")),
            Some("/tmp/a.log".into())
        );
        assert!(path(Some("/var/log/heat"), None).is_some_and(|path| path.starts_with("/var/log/heat")));
    }

    #[test]
    fn a_moved_file_is_made_anew() {
        let directory = std::env::temp_dir().join(format!("heat-engine-rs-log-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("temporary directory");
        let path = directory.join("a.log");
        let mut file = LogFile::open(&path).expect("log file");
        file.write("one\n");
        std::fs::rename(&path, directory.join("a.log.1")).expect("rename");
        assert!(!file.is_in_place());
        file.reopen();
        file.write("two\n");
        assert_eq!(std::fs::read_to_string(&path).expect("new file"), "two\n");
        std::fs::remove_dir_all(&directory).expect("cleanup");
    }

    #[test]
    fn facilities_have_their_syslog_numbers() {
        assert_eq!(facility("LOG_USER").expect("known"), 1);
        assert_eq!(facility("local3").expect("known"), 19);
        assert!(facility("LOCAL8").is_err());
        assert!(facility("nonsense").is_err());
    }
}
