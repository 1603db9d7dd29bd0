//! What is wrong, where, and what may have been meant.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::hints;
use super::source::Source;
use super::words::in_words;
use crate::cli::screen::{in_lines, one_line};
use crate::cli::secrets::Secrets;
use crate::template::reading::Mark;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

#[derive(Debug, Clone)]
struct Place {
    mark: Mark,
    /// What of the line is shown, and where in that the place is.
    shown: Option<(String, usize)>,
}

impl Place {
    fn of(source: &Source, mark: Mark) -> Self {
        let shown = source.line(mark.line).map(|line| window(line, mark.column));
        Self { mark, shown }
    }

    fn write(&self, text: &mut String, remark: &str) {
        if let Some((shown, column)) = &self.shown {
            let number = (self.mark.line + 1).to_string();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {number} | {}", one_line(shown));
            let _ = writeln!(
                text,
                "  {} | {}^{remark}",
                " ".repeat(number.len()),
                " ".repeat(*column)
            );
        }
    }
}

#[derive(Debug, Clone)]
pub struct Problem {
    severity: Severity,
    file: String,
    place: Option<Place>,
    /// Another place that has to do with it, and how.
    remark: Option<(Place, String)>,
    /// `resources.a.properties.x`; empty for what is about the whole file.
    path: String,
    message: String,
    help: Option<String>,
}

impl Problem {
    /// Something at a path of a file, or at a part of that which the message names.
    pub fn at(source: &Source, severity: Severity, path: impl Into<String>, message: impl AsRef<str>) -> Self {
        let path = path.into();
        let said = in_words(message.as_ref());
        let inner = said.step.map(|step| format!("{path}.{step}"));
        let path = inner.filter(|inner| source.has(inner)).unwrap_or(path);
        let mark = source.find(&path);
        let help = hints::of_truth(source, &path, &said.message);
        let problem = Self::new(source, severity, said.message).with_mark(source, mark);
        Self { path, help, ..problem }
    }

    pub fn of_file(source: &Source, severity: Severity, message: impl AsRef<str>) -> Self {
        Self::new(source, severity, in_words(message.as_ref()).message)
    }

    fn new(source: &Source, severity: Severity, message: String) -> Self {
        Self {
            severity,
            file: source.name.clone(),
            place: None,
            remark: None,
            path: String::new(),
            message: shortened(message),
            help: None,
        }
    }

    pub fn with_mark(mut self, source: &Source, mark: Option<Mark>) -> Self {
        self.place = mark.map(|mark| Place::of(source, mark));
        self
    }

    /// Points to another place, too.
    pub fn with_remark(mut self, source: &Source, mark: Mark, remark: impl Into<String>) -> Self {
        self.remark = Some((Place::of(source, mark), remark.into()));
        self
    }

    fn mark(&self) -> Option<Mark> {
        self.place.as_ref().map(|place| place.mark)
    }

    pub fn with_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    pub fn with_help_unless_helped(mut self, help: &str) -> Self {
        self.help.get_or_insert_with(|| help.to_owned());
        self
    }

    /// The same as a warning, and why it is none but that.
    pub fn harmless(mut self, why: &str) -> Self {
        self.severity = Severity::Warning;
        self.help = Some(match self.help {
            Some(help) => format!("{help} ({why})"),
            None => why.to_owned(),
        });
        self
    }

    /// The same without what must not be seen.
    pub fn without(mut self, secrets: &Secrets) -> Self {
        let hide = |text: &mut String| *text = secrets.hide_in(text);
        hide(&mut self.message);
        self.help.iter_mut().for_each(hide);
        for place in self
            .place
            .iter_mut()
            .chain(self.remark.iter_mut().map(|(place, _)| place))
        {
            place.shown.iter_mut().for_each(|(shown, _)| hide(shown));
        }
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    pub fn is_at(&self, source: &Source, path: &str) -> bool {
        self.file == source.name && self.path == path
    }

    pub fn says(&self, message: &str) -> bool {
        self.message == message
    }

    fn written_place(&self) -> String {
        match self.mark() {
            Some(mark) => format!("{}:{}:{}", self.file, mark.line + 1, mark.column + 1),
            None => self.file.clone(),
        }
    }

    fn write(&self, text: &mut String) {
        let path = if self.path.is_empty() {
            String::new()
        } else {
            format!(" {}:", one_line(&self.path))
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}: {}:{path} {}",
            self.written_place(),
            self.severity.as_str(),
            in_lines(&self.message)
        );
        if let Some(place) = &self.place {
            place.write(text, "");
        }
        if let Some((place, remark)) = &self.remark {
            place.write(text, &format!(" {remark}"));
        }
        if let Some(help) = &self.help {
            let _ = writeln!(text, "  {}", in_lines(help));
        }
    }

    fn to_json(&self) -> Value {
        let remark = self.remark.as_ref().map(
            |(place, remark)| json!({"line": place.mark.line + 1, "column": place.mark.column + 1, "message": remark}),
        );
        json!({
            "severity": self.severity.as_str(),
            "file": self.file,
            "line": self.mark().map(|mark| mark.line + 1),
            "column": self.mark().map(|mark| mark.column + 1),
            "path": self.path,
            "message": self.message,
            "help": self.help,
            "remark": remark,
        })
    }
}

const WIDEST: usize = 110;

/// Messages quote what they are about, which may be a whole file.
const LONGEST_MESSAGE: usize = 1000;

fn shortened(message: String) -> String {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}… ({} characters)", &message[..end], message.chars().count()),
        None => message,
    }
}

/// The part of a long line around a column, and where the column is in it. Tabs count as one.
fn window(line: &str, column: usize) -> (String, usize) {
    // In a line that is a whole file, of plain letters, the place need not be counted to.
    if line.len() > WIDEST && line.is_ascii() {
        let start = column.saturating_sub(WIDEST / 2).min(line.len());
        let shown = &line[start..line.len().min(start + WIDEST)];
        return (shown.replace('\t', " "), column - start);
    }
    let is_long = line.chars().nth(WIDEST).is_some();
    let start = if is_long { column.saturating_sub(WIDEST / 2) } else { 0 };
    let shown = line.chars().skip(start).take(WIDEST);
    (shown.map(|c| if c == '\t' { ' ' } else { c }).collect(), column - start)
}

/// All of them in the order of the files' lines, each once.
pub fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    let mut files: Vec<String> = Vec::new();
    for problem in &problems {
        if !files.contains(&problem.file) {
            files.push(problem.file.clone());
        }
    }
    problems.sort_by_key(|problem| {
        let file = files.iter().position(|file| *file == problem.file);
        (file, problem.mark().map(|mark| (mark.line, mark.column)))
    });
    problems.dedup_by(|next, first| {
        next.file == first.file && next.mark() == first.mark() && next.message == first.message
    });
    problems
}

/// So many are told in text: nobody reads more.
const MOST_TOLD: usize = 500;

/// In text, as many as people read, errors rather than warnings.
pub fn to_text(problems: &[Problem]) -> String {
    let mut text = String::new();
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let mut left_for_warnings = MOST_TOLD.saturating_sub(errors);
    let mut left_for_errors = MOST_TOLD;
    let mut untold = Vec::new();
    for problem in problems {
        let left = match problem.severity {
            Severity::Error => &mut left_for_errors,
            Severity::Warning => &mut left_for_warnings,
        };
        match left.checked_sub(1) {
            Some(fewer) => {
                *left = fewer;
                problem.write(&mut text);
            }
            None => untold.push(problem),
        }
    }
    if !untold.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "and {} more, which --format json tells",
            count(untold.iter().copied())
        );
    }
    text
}

pub fn to_json(problems: &[Problem]) -> Value {
    problems.iter().map(Problem::to_json).collect()
}

/// `2 errors, 1 warning`
pub fn count<'p>(problems: impl IntoIterator<Item = &'p Problem>) -> String {
    let (mut errors, mut warnings) = (0, 0);
    for problem in problems {
        match problem.severity {
            Severity::Error => errors += 1,
            Severity::Warning => warnings += 1,
        }
    }
    let counted = |number: usize, what: &str| match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    };
    match (errors, warnings) {
        (0, 0) => "nothing to complain about".to_owned(),
        (errors, 0) => counted(errors, "error"),
        (0, warnings) => counted(warnings, "warning"),
        (errors, warnings) => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(shortened("ü".repeat(1000)), "ü".repeat(1000));
        assert_eq!(
            shortened("ü".repeat(1001)),
            format!("{}… (1001 characters)", "ü".repeat(1000))
        );
    }

    #[test]
    fn what_templates_say_gives_the_terminal_no_orders() {
        let source = Source::of("t".to_owned(), PathBuf::new(), "a\u{1b}[2J: 1\n".to_owned());
        let mark = Mark {
            index: 0,
            line: 0,
            column: 0,
        };
        let problem = Problem::of_file(&source, Severity::Error, "no \u{7}bell,\nin lines");
        let told = to_text(&[problem
            .with_mark(&source, Some(mark))
            .with_help(Some("\u{1b}c".to_owned()))]);
        assert!(
            !told.contains(['\u{1b}', '\u{7}']) && told.contains("no  bell,\nin lines"),
            "{told:?}"
        );
    }

    #[test]
    fn nobody_reads_thousands_of_warnings() {
        let source = Source::of("t".to_owned(), PathBuf::new(), String::new());
        let problem = |severity| Problem::of_file(&source, severity, "odd");
        let mut problems = vec![problem(Severity::Warning); MOST_TOLD + 1];
        problems.extend([problem(Severity::Error), problem(Severity::Error)]);
        let told = to_text(&problems);
        assert_eq!(told.lines().count(), MOST_TOLD + 1);
        assert_eq!(told.matches("t: error: odd").count(), 2);
        assert!(
            told.ends_with("and 3 warnings more, which --format json tells\n"),
            "{told}"
        );
        assert_eq!(to_text(&problems[..MOST_TOLD]).lines().count(), MOST_TOLD);
    }

    #[test]
    fn long_lines_are_shown_in_part() {
        let line = "x".repeat(300);
        assert_eq!(window(&line, 10), ("x".repeat(110), 10));
        assert_eq!(window(&line, 200), ("x".repeat(110), 55));
        assert_eq!(window("\ta", 1), (" a".to_owned(), 1));
    }
}
