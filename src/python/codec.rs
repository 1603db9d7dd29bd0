//! Text that an encoding cannot take, and what Python says of it.

/// `'ascii' codec can't encode character '\xfc' in position 0: ordinal not in range(128)`
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{codec}' codec can't encode {what}: ordinal not in range({size})")]
pub struct EncodeError {
    codec: &'static str,
    what: String,
    size: u32,
}

/// Whether all characters of a text are among the first `size`.
pub fn check_encodable(text: &str, codec: &'static str, size: u32) -> Result<(), EncodeError> {
    let does_not_fit = |character: &char| u32::from(*character) >= size;
    let Some(start) = text.chars().position(|character| does_not_fit(&character)) else {
        return Ok(());
    };
    let run: Vec<char> = text.chars().skip(start).take_while(does_not_fit).collect();
    let what = match run.as_slice() {
        [character] => format!("character '{}' in position {start}", escaped(*character)),
        several => format!("characters in position {start}-{}", start + several.len() - 1),
    };
    Err(EncodeError { codec, what, size })
}

fn escaped(character: char) -> String {
    match u32::from(character) {
        code @ 0..=0xff => format!("\\x{code:02x}"),
        code @ 0x100..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_named() {
        let error = |text: &str| check_encodable(text, "ascii", 0x80).unwrap_err().to_string();
        assert_eq!(
            error("aü"),
            "'ascii' codec can't encode character '\\xfc' in position 1: ordinal not in range(128)"
        );
        assert_eq!(
            error("€€"),
            "'ascii' codec can't encode characters in position 0-1: ordinal not in range(128)"
        );
        assert!(check_encodable("ü", "latin-1", 0x100).is_ok());
    }
}
