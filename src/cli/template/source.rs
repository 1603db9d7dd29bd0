//! A file that people wrote, with its lines and places.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::template::reading::{Mark, Places};

#[derive(Debug)]
pub struct Source {
    /// As it was named.
    pub name: String,
    /// Where the files are that it speaks of.
    pub directory: PathBuf,
    pub text: String,
    places: OnceCell<Option<Places>>,
}

impl Source {
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self {
            name: path.display().to_string(),
            directory: path.parent().map(Path::to_owned).unwrap_or_default(),
            text,
            places: OnceCell::new(),
        })
    }

    pub fn places(&self) -> Option<&Places> {
        self.places.get_or_init(|| Places::of(&self.text)).as_ref()
    }

    /// The place of what messages call `resources.a.properties.x`, or of the nearest thing around it.
    pub fn find(&self, path: &str) -> Option<Mark> {
        self.places()?.find_written(path)
    }

    pub fn line(&self, number: usize) -> Option<&str> {
        self.text.lines().nth(number)
    }
}
