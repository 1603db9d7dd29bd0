//! A file that people wrote, with its lines and places.

use std::cell::OnceCell;
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use crate::template::reading::{Mark, Places};

#[derive(Debug)]
pub struct Source {
    /// As it was named.
    pub name: String,
    /// Where the files are that it speaks of.
    pub directory: PathBuf,
    pub text: String,
    places: OnceCell<Option<Places>>,
    /// Where the lines are in the text: a template may have as many faults as lines.
    lines: OnceCell<Vec<Range<usize>>>,
}

/// Of what others wrote a name may lead anywhere: to a device without end, or to a pipe that nobody writes to.
pub fn ensure_file(path: &Path) -> std::io::Result<()> {
    const LARGEST: u64 = 64 * 1024 * 1024;
    let about = std::fs::metadata(path)?;
    match about.is_file() {
        false => Err(std::io::Error::other("it is no file")),
        true if about.len() > LARGEST => Err(std::io::Error::other("it is larger than 64 MiB")),
        true => Ok(()),
    }
}

impl Source {
    /// Reads a file; `-` is standard input, whose files are meant from the current directory.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        if Self::is_stdin(path) {
            let mut bytes = Vec::new();
            let read = std::io::stdin().read_to_end(&mut bytes);
            read.context("cannot read standard input")?;
            let text = text_of(bytes).context("cannot read standard input")?;
            return Ok(Self::of("stdin".to_owned(), PathBuf::new(), text));
        }
        let text = std::fs::read(path).map_err(anyhow::Error::new).and_then(text_of);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let directory = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self::of(path.display().to_string(), directory, text))
    }

    /// Reads a file that a template or an environment names.
    pub fn read_named(path: &Path) -> anyhow::Result<Self> {
        ensure_file(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::read(path)
    }

    pub fn of(name: String, directory: PathBuf, text: String) -> Self {
        Self {
            name,
            directory,
            text,
            places: OnceCell::new(),
            lines: OnceCell::new(),
        }
    }

    pub fn is_stdin(path: &Path) -> bool {
        path == Path::new("-")
    }

    pub fn places(&self) -> Option<&Places> {
        self.places.get_or_init(|| Places::of(&self.text)).as_ref()
    }

    /// The place of what messages call `resources.a.properties.x`, or of the nearest thing around it.
    pub fn find(&self, path: &str) -> Option<Mark> {
        self.places()?.find_written(path)
    }

    /// Whether something stands at such a path, and not only at the beginning of it.
    pub fn has(&self, path: &str) -> bool {
        self.places().is_some_and(|places| places.is_written(path))
    }

    /// The word at a path as messages write it which YAML takes for true or false: `yes`, `off`.
    pub fn word_for_truth(&self, path: &str) -> Option<&str> {
        self.places()?.word_for_truth(path)
    }

    /// Whether there is something at the path.
    pub fn says(&self, path: &[impl AsRef<str>]) -> bool {
        let steps = path.iter().map(AsRef::as_ref);
        self.places().is_some_and(|places| places.contains(steps))
    }

    pub fn line(&self, number: usize) -> Option<&str> {
        let lines = self.lines.get_or_init(|| {
            let mut end = 0;
            let lines = self.text.split_inclusive('\n');
            lines
                .map(|line| {
                    let start = end;
                    end += line.len();
                    start..start + line.trim_end_matches('\n').trim_end_matches('\r').len()
                })
                .collect()
        });
        self.text.get(lines.get(number)?.clone())
    }
}

/// # Errors
/// Where the bytes are not UTF-8.
fn text_of(bytes: Vec<u8>) -> anyhow::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let (bytes, sound) = (error.as_bytes(), error.utf8_error().valid_up_to());
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return anyhow!("it is UTF-16, and has to be UTF-8");
        }
        let line = bytes[..sound].iter().filter(|byte| **byte == b'\n').count() + 1;
        anyhow!("it is not UTF-8: byte {:#04x} in line {line}", bytes[sound])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_utf8_is_told_where() {
        let told = |bytes: &[u8]| text_of(bytes.to_vec()).map_err(|error| error.to_string());
        assert_eq!(told("a: \u{e4}\n".as_bytes()), Ok("a: \u{e4}\n".to_owned()));
        assert_eq!(
            told(b"a: 1\nb: \xe4"),
            Err("it is not UTF-8: byte 0xe4 in line 2".to_owned())
        );
        assert_eq!(
            told(b"\xff\xfea\0"),
            Err("it is UTF-16, and has to be UTF-8".to_owned())
        );
    }
}
