//! Text as the columns can hold it.

/// What a TEXT column holds.
const TEXT_BYTES: usize = 65_535;

/// What the event table holds of a reason.
const EVENT_REASON_CHARACTERS: usize = 255;

/// The JSON text of nothing, which Python writes where there is nothing to write.
pub(super) const JSON_NULL: &str = "null";

/// Which characters the tables can hold: most installations have three-byte UTF-8 columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repertoire {
    BasicPlane,
    Full,
}

/// What columns of names hold.
const NAME_CHARACTERS: usize = 255;

/// Why no row can have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnstorableName {
    #[error("it has {0} characters, and the database holds {NAME_CHARACTERS}")]
    TooLong(usize),
    #[error("the database cannot hold the character {0:?}")]
    Character(char),
}

/// Whether a name is short enough for its column, in whatever characters.
pub fn name_fits(name: &str) -> Result<(), UnstorableName> {
    match name.chars().count() {
        length if length > NAME_CHARACTERS => Err(UnstorableName::TooLong(length)),
        _ => Ok(()),
    }
}

impl Repertoire {
    pub fn check_name(self, name: &str) -> Result<(), UnstorableName> {
        let foreign = match self {
            Repertoire::Full => None,
            Repertoire::BasicPlane => name.chars().find(|character| *character > '\u{ffff}'),
        };
        match foreign {
            Some(character) => Err(UnstorableName::Character(character)),
            None => name_fits(name),
        }
    }

    /// A status reason for a TEXT column: cut at the column's size, on a character border.
    ///
    /// The write that stores a reason is most often also the one that gives up a lock, so it must not fail for the
    /// sake of the reason. Hence also the replacement of characters that the column cannot hold.
    pub fn status_reason(self, reason: &str) -> String {
        let reason = self.replace_unstorable(reason);
        let end = (0..=TEXT_BYTES.min(reason.len()))
            .rev()
            .find(|at| reason.is_char_boundary(*at));
        reason[..end.unwrap_or(0)].to_owned()
    }

    pub fn event_reason(self, reason: &str) -> String {
        self.replace_unstorable(reason)
            .chars()
            .take(EVENT_REASON_CHARACTERS)
            .collect()
    }

    fn replace_unstorable(self, text: &str) -> String {
        match self {
            Repertoire::Full => text.to_owned(),
            Repertoire::BasicPlane => {
                let stored = |character| {
                    if character > '\u{ffff}' {
                        char::REPLACEMENT_CHARACTER
                    } else {
                        character
                    }
                };
                text.chars().map(stored).collect()
            }
        }
    }
}

/// JSON text for a column that is never NULL in a row that Python writes.
pub(super) fn json_or_null(text: Option<&str>) -> &str {
    text.unwrap_or(JSON_NULL)
}

/// JSON text from a column, where both NULL and `null` mean nothing.
pub(super) fn json_from_column(text: Option<String>) -> Option<String> {
    text.filter(|text| text != JSON_NULL)
}

/// Python's text of a list of row ids: `[3, 1]`.
pub(super) fn id_list(ids: &[i64]) -> String {
    let ids: Vec<_> = ids.iter().map(i64::to_string).collect();
    format!("[{}]", ids.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_on_a_character_border() {
        let reason = "\u{20ac}".repeat(30_000);
        let stored = Repertoire::Full.status_reason(&reason);
        assert_eq!(stored.len(), 65_535);
        let odd = format!("x{reason}");
        assert_eq!(Repertoire::Full.status_reason(&odd).len(), 1 + 21_844 * 3);
        assert_eq!(Repertoire::Full.status_reason("short"), "short");
        assert_eq!(Repertoire::Full.status_reason(""), "");
    }

    #[test]
    fn characters_that_do_not_fit_are_replaced_and_nothing_else() {
        assert_eq!(
            Repertoire::BasicPlane.status_reason("a\u{1f600}\u{20ac}"),
            "a\u{fffd}\u{20ac}"
        );
        assert_eq!(Repertoire::Full.status_reason("a\u{1f600}"), "a\u{1f600}");
    }

    #[test]
    fn an_event_holds_255_characters() {
        assert_eq!(
            Repertoire::Full.event_reason(&"\u{e9}".repeat(300)),
            "\u{e9}".repeat(255)
        );
    }

    #[test]
    fn a_name_fits_its_column() {
        let longest = "\u{e9}".repeat(255);
        assert_eq!(Repertoire::BasicPlane.check_name(&longest), Ok(()));
        let too_long = Repertoire::Full.check_name(&format!("{longest}x"));
        assert_eq!(too_long, Err(UnstorableName::TooLong(256)));
        let foreign = Repertoire::BasicPlane.check_name("n\u{1f600}");
        assert_eq!(foreign, Err(UnstorableName::Character('\u{1f600}')));
        assert_eq!(Repertoire::Full.check_name("n\u{1f600}"), Ok(()));
    }

    #[test]
    fn id_lists_are_spaced_as_python_does() {
        assert_eq!(id_list(&[6212, 6211]), "[6212, 6211]");
        assert_eq!(id_list(&[]), "[]");
    }
}
