//! The file format of oslo.config. It looks like INI, and no INI crate reads it: a key may be repeated, a line that
//! starts with white space continues the one above, a blank line or a comment ends it, and one pair of quotes goes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::error::{SettingsError, SyntaxProblem};

/// One value, with the line on which its assignment starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub text: String,
    pub line: usize,
}

/// A file that was read. Group names are lower case, but for `DEFAULT`.
#[derive(Clone, Debug, Default)]
pub struct IniFile {
    pub path: PathBuf,
    groups: HashMap<String, HashMap<String, Vec<Assignment>>>,
}

impl IniFile {
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let bytes = std::fs::read(path).map_err(|source| SettingsError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let text = std::str::from_utf8(&bytes).map_err(|bad| {
            let line = bytes[..bad.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            SettingsError::Syntax {
                path: path.to_owned(),
                line,
                problem: SyntaxProblem::NotUtf8,
            }
        })?;
        Self::parse(path, text)
    }

    pub fn parse(path: &Path, text: &str) -> Result<Self, SettingsError> {
        let mut reader = Reader::new(path);
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let syntax = |(line, problem)| SettingsError::Syntax {
            path: path.to_owned(),
            line,
            problem,
        };
        for (index, line) in text.split('\n').enumerate() {
            reader.line(index + 1, line.trim_end()).map_err(syntax)?;
        }
        reader.close().map_err(syntax)?;
        Ok(reader.file)
    }

    /// Every value of an option, in the order of the file.
    pub fn values(&self, group: &str, key: &str) -> &[Assignment] {
        self.groups
            .get(&normalized(group))
            .and_then(|keys| keys.get(key))
            .map_or(&[], Vec::as_slice)
    }

    /// What a group assigns to, each with the line, in the order of the file.
    pub fn assignments(&self, group: &str) -> Vec<(usize, &str)> {
        let keys = self.groups.get(&normalized(group)).into_iter().flatten();
        let mut assignments: Vec<(usize, &str)> = keys
            .flat_map(|(key, values)| values.iter().map(move |value| (value.line, key.as_str())))
            .collect();
        assignments.sort_unstable();
        assignments
    }
}

fn normalized(group: &str) -> String {
    if group == "DEFAULT" {
        group.to_owned()
    } else {
        group.to_lowercase()
    }
}

struct Reader {
    file: IniFile,
    group: Option<String>,
    open: Option<OpenAssignment>,
}

/// A problem and its line.
type Fault = (usize, SyntaxProblem);

/// An assignment that the next line may continue.
struct OpenAssignment {
    key: String,
    lines: Vec<String>,
    line: usize,
}

impl Reader {
    fn new(path: &Path) -> Self {
        Reader {
            file: IniFile {
                path: path.to_owned(),
                ..IniFile::default()
            },
            group: None,
            open: None,
        }
    }

    fn line(&mut self, number: usize, line: &str) -> Result<(), Fault> {
        if line.is_empty() {
            return self.close();
        }
        if line.starts_with([' ', '\t']) {
            let open = self
                .open
                .as_mut()
                .ok_or((number, SyntaxProblem::UnexpectedContinuation))?;
            open.lines.push(line.trim_start().to_owned());
            return Ok(());
        }
        self.close()?;
        let result = match line.as_bytes()[0] {
            b'[' => self.section(line),
            b'#' | b';' => Ok(()),
            _ => self.assignment(number, line),
        };
        result.map_err(|problem| (number, problem))
    }

    fn section(&mut self, line: &str) -> Result<(), SyntaxProblem> {
        let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match name {
            None => Err(SyntaxProblem::UnclosedSection),
            Some("") => Err(SyntaxProblem::EmptySection),
            Some(name) => {
                self.group = Some(normalized(name));
                Ok(())
            }
        }
    }

    fn assignment(&mut self, number: usize, line: &str) -> Result<(), SyntaxProblem> {
        let at = line.find([':', '=']).ok_or(SyntaxProblem::NoAssignment)?;
        let key = line[..at].trim();
        if key.is_empty() {
            return Err(SyntaxProblem::EmptyKey);
        }
        let value = without_quotes(line[at + 1..].trim());
        self.open = Some(OpenAssignment {
            key: key.to_owned(),
            lines: vec![value.to_owned()],
            line: number,
        });
        Ok(())
    }

    /// Store the assignment that ends here.
    fn close(&mut self) -> Result<(), Fault> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let group = self.group.as_ref().ok_or((open.line, SyntaxProblem::NoSection))?;
        let keys = self.file.groups.entry(group.clone()).or_default();
        let assignment = Assignment {
            text: open.lines.join("\n"),
            line: open.line,
        };
        keys.entry(open.key).or_default().push(assignment);
        Ok(())
    }
}

/// Quotes are taken off the first line alone, and only where both ends have the same.
fn without_quotes(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            return match rest.strip_suffix(quote) {
                Some(inner) => inner,
                None if rest.is_empty() => "",
                None => value,
            };
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<IniFile, SettingsError> {
        IniFile::parse(Path::new("heat.conf"), text)
    }

    fn texts(file: &IniFile, group: &str, key: &str) -> Vec<String> {
        file.values(group, key).iter().map(|value| value.text.clone()).collect()
    }

    #[test]
    fn a_value_goes_on_over_indented_lines_until_a_blank_one() {
        let file = parse("[DEFAULT]\nhost = a\n  b\n\tc\n\ntemplate_dir = 'x y'\n").expect("sound");
        assert_eq!(texts(&file, "DEFAULT", "host"), ["a\nb\nc"]);
        assert_eq!(texts(&file, "DEFAULT", "template_dir"), ["x y"]);
    }

    #[test]
    fn repeated_keys_and_groups_add_up() {
        let file = parse("[Database]\na=1\na=2\n[DEFAULT]\na=0\n[DATABASE]\na=3\n").expect("sound");
        assert_eq!(texts(&file, "database", "a"), ["1", "2", "3"]);
        assert_eq!(file.values("database", "a")[2].line, 7);
    }

    #[test]
    fn a_problem_has_its_line() {
        for (text, line, problem) in [
            ("[DEFAULT]\n\nhost\n", 3, SyntaxProblem::NoAssignment),
            ("[DEFAULT]\n = x\n", 2, SyntaxProblem::UnexpectedContinuation),
            ("[DEFAULT]\n=x\n", 2, SyntaxProblem::EmptyKey),
            ("host=x\n\n[DEFAULT]\n", 1, SyntaxProblem::NoSection),
            ("[DEFAULT] # no\n", 1, SyntaxProblem::UnclosedSection),
            ("[]\n", 1, SyntaxProblem::EmptySection),
        ] {
            match parse(text) {
                Err(SettingsError::Syntax {
                    line: found_line,
                    problem: found,
                    ..
                }) => {
                    assert_eq!((found_line, found), (line, problem), "{text:?}");
                }
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }
}
