//! Random texts of characters of given classes, with at least so many of each.

use std::collections::BTreeSet;

use crate::clock::Clock;

pub const LETTERS_DIGITS: &str = "lettersdigits";

/// The names of the classes that need no list of characters.
pub const CHARACTER_CLASSES: &[&str] = &[
    LETTERS_DIGITS,
    "letters",
    "lowercase",
    "uppercase",
    "digits",
    "hexdigits",
    "octdigits",
];

/// Which characters, and how many of them at least.
pub struct CharacterClass {
    characters: Vec<char>,
    least: usize,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("Cannot choose from an empty sequence")]
pub struct NoCharacters;

impl CharacterClass {
    /// The characters of a text; one that stands in it twice is not likelier than others.
    pub fn of(characters: &str, least: usize) -> Self {
        let distinct: BTreeSet<char> = characters.chars().collect();
        Self {
            characters: distinct.into_iter().collect(),
            least,
        }
    }

    pub fn named(name: &str, least: usize) -> Option<Self> {
        let lower = 'a'..='z';
        let upper = 'A'..='Z';
        let digits = '0'..='9';
        let characters: Vec<char> = match name {
            LETTERS_DIGITS => lower.chain(upper).chain(digits).collect(),
            "letters" => lower.chain(upper).collect(),
            "lowercase" => lower.collect(),
            "uppercase" => upper.collect(),
            "digits" => digits.collect(),
            "hexdigits" => digits.chain('A'..='F').collect(),
            "octdigits" => ('0'..='7').collect(),
            _ => return None,
        };
        Some(Self { characters, least })
    }
}

/// A text of that length: of each class what it asks for, the rest from all of them together, in any order.
pub fn generate(length: usize, classes: &[CharacterClass], clock: &Clock) -> Result<String, NoCharacters> {
    let all: BTreeSet<char> = classes
        .iter()
        .flat_map(|class| class.characters.iter().copied())
        .collect();
    let all: Vec<char> = all.into_iter().collect();
    let mut chosen = Vec::new();
    for class in classes {
        for _ in 0..class.least {
            chosen.push(choose(&class.characters, clock)?);
        }
    }
    while chosen.len() < length {
        chosen.push(choose(&all, clock)?);
    }
    shuffle(&mut chosen, clock);
    Ok(chosen.into_iter().take(length).collect())
}

fn choose(characters: &[char], clock: &Clock) -> Result<char, NoCharacters> {
    if characters.is_empty() {
        return Err(NoCharacters);
    }
    Ok(characters[index_below(characters.len(), clock)])
}

fn shuffle(characters: &mut [char], clock: &Clock) {
    for last in (1..characters.len()).rev() {
        characters.swap(last, index_below(last + 1, clock));
    }
}

fn index_below(limit: usize, clock: &Clock) -> usize {
    // As large as the limit at most, which is a usize.
    usize::try_from(clock.random_below(limit as u64)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str, is_of_class: impl Fn(char) -> bool) -> usize {
        text.chars().filter(|character| is_of_class(*character)).count()
    }

    #[test]
    fn every_class_gets_what_it_asks_for() {
        let classes = [
            CharacterClass::named("digits", 3).unwrap(),
            CharacterClass::named("uppercase", 2).unwrap(),
            CharacterClass::of("!!??", 4),
        ];
        for _ in 0..50 {
            let text = generate(12, &classes, &Clock::system()).unwrap();
            assert_eq!(text.len(), 12);
            assert!(count(&text, |c| c.is_ascii_digit()) >= 3, "{text}");
            assert!(count(&text, |c| c.is_ascii_uppercase()) >= 2, "{text}");
            assert!(count(&text, |c| c == '!' || c == '?') >= 4, "{text}");
            assert_eq!(count(&text, |c| c.is_ascii_lowercase()), 0, "{text}");
        }
    }

    #[test]
    fn nothing_can_be_chosen_from_nothing() {
        assert_eq!(generate(1, &[], &Clock::system()), Err(NoCharacters));
        assert_eq!(
            generate(1, &[CharacterClass::of("", 1)], &Clock::system()),
            Err(NoCharacters)
        );
    }

    #[test]
    fn all_names_are_known() {
        for name in CHARACTER_CLASSES {
            assert!(CharacterClass::named(name, 1).is_some(), "{name}");
        }
        assert!(CharacterClass::named("vowels", 1).is_none());
    }
}
