//! YAML events from libyaml: the one place with code that the compiler cannot check.
//!
//! Heat reads YAML with libyaml, and no other parser agrees with libyaml on all that people write. This is the same
//! code, translated to Rust by machine; what it hands out is copied into safe values at once.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// A place in a text, counted from zero, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    pub index: usize,
    pub line: usize,
    pub column: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    StreamStart,
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(String),
    Scalar {
        head: Head,
        text: String,
        /// Written without quotes: what it is may be told from the text.
        is_plain: bool,
    },
    SequenceStart(Head),
    SequenceEnd,
    MappingStart(Head),
    MappingEnd,
}

/// What may stand before a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Head {
    pub anchor: Option<String>,
    pub tag: Option<String>,
}

/// What libyaml complains of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub text: String,
    pub mark: Mark,
    pub context: Option<String>,
    pub context_mark: Mark,
}

/// Counts characters where this libyaml counts bytes (the one in C does not), on from the place that was asked for last.
struct Counter<'t> {
    text: &'t str,
    bytes: usize,
    characters: usize,
}

impl<'t> Counter<'t> {
    fn of(text: &'t str) -> Self {
        Self {
            text,
            bytes: 0,
            characters: 0,
        }
    }

    fn characters_before(&mut self, bytes: usize) -> usize {
        let bytes = self.text.floor_char_boundary(bytes);
        if bytes < self.bytes {
            self.characters -= self.text[bytes..self.bytes].chars().count();
        } else {
            self.characters += self.text[self.bytes..bytes].chars().count();
        }
        self.bytes = bytes;
        self.characters
    }

    fn mark(&mut self, mark: unsafe_libyaml::yaml_mark_t) -> Mark {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        // libyaml begins to count behind it.
        let byte_order_mark = if self.text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        Mark {
            index: self.characters_before(count(mark.index).saturating_add(byte_order_mark)),
            line: count(mark.line),
            column: count(mark.column),
        }
    }
}

/// A running parser. Boxed, because libyaml keeps pointers into it.
struct Handle<'t> {
    parser: Box<MaybeUninit<unsafe_libyaml::yaml_parser_t>>,
    counter: Counter<'t>,
}

impl<'t> Handle<'t> {
    fn new(text: &'t str) -> Self {
        let mut parser = Box::new(MaybeUninit::uninit());
        // SAFETY: the parser is initialised before anything else is done with it (it fails only where memory ends, and
        // then aborts), and the text outlives it.
        unsafe {
            let pointer = parser.as_mut_ptr();
            let initialised = unsafe_libyaml::yaml_parser_initialize(pointer);
            assert!(initialised.ok, "libyaml starts");
            unsafe_libyaml::yaml_parser_set_input_string(pointer, text.as_ptr(), text.len() as u64);
        }
        Self {
            parser,
            counter: Counter::of(text),
        }
    }

    fn problem(&mut self) -> Problem {
        // SAFETY: the parser is initialised; its texts are constants of libyaml or null.
        unsafe {
            let parser = self.parser.assume_init_ref();
            Problem {
                text: constant(parser.problem).unwrap_or_default(),
                mark: self.counter.mark(parser.problem_mark),
                context: constant(parser.context),
                context_mark: self.counter.mark(parser.context_mark),
            }
        }
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, deleted once.
        unsafe { unsafe_libyaml::yaml_parser_delete(self.parser.as_mut_ptr()) }
    }
}

/// The events of a text, one after the other; the last one is `StreamEnd`.
pub(super) struct Events<'t>(Handle<'t>);

impl<'t> Events<'t> {
    pub fn of(text: &'t str) -> Self {
        Self(Handle::new(text))
    }

    pub fn next(&mut self) -> Result<(Event, Mark), Problem> {
        let mut event = MaybeUninit::uninit();
        // SAFETY: a successful call fills the event in, which is copied and then deleted; a failed one leaves nothing
        // behind that would have to be.
        unsafe {
            if unsafe_libyaml::yaml_parser_parse(self.0.parser.as_mut_ptr(), event.as_mut_ptr()).fail {
                return Err(self.0.problem());
            }
            let filled = event.assume_init_ref();
            let found = (copied(filled), self.0.counter.mark(filled.start_mark));
            unsafe_libyaml::yaml_event_delete(event.as_mut_ptr());
            Ok(found)
        }
    }
}

/// A token of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    /// The name that PyYAML's messages use.
    pub name: &'static str,
    pub start: Mark,
    pub end: Mark,
}

/// The tokens of a text, as far as libyaml can tell them.
pub(super) struct Tokens<'t>(Handle<'t>);

impl<'t> Tokens<'t> {
    pub fn of(text: &'t str) -> Self {
        Self(Handle::new(text))
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let mut token = MaybeUninit::uninit();
        // SAFETY: as for events.
        unsafe {
            if unsafe_libyaml::yaml_parser_scan(self.0.parser.as_mut_ptr(), token.as_mut_ptr()).fail {
                return None;
            }
            let filled = token.assume_init_ref();
            let found = token_name(filled.type_).map(|name| Token {
                name,
                start: self.0.counter.mark(filled.start_mark),
                end: self.0.counter.mark(filled.end_mark),
            });
            unsafe_libyaml::yaml_token_delete(token.as_mut_ptr());
            found
        }
    }
}

fn token_name(kind: unsafe_libyaml::yaml_token_type_t) -> Option<&'static str> {
    use unsafe_libyaml::yaml_token_type_t::*;
    Some(match kind {
        YAML_STREAM_START_TOKEN => "<stream start>",
        YAML_STREAM_END_TOKEN => "<stream end>",
        YAML_VERSION_DIRECTIVE_TOKEN | YAML_TAG_DIRECTIVE_TOKEN => "<directive>",
        YAML_DOCUMENT_START_TOKEN => "<document start>",
        YAML_DOCUMENT_END_TOKEN => "<document end>",
        YAML_BLOCK_SEQUENCE_START_TOKEN => "<block sequence start>",
        YAML_BLOCK_MAPPING_START_TOKEN => "<block mapping start>",
        YAML_BLOCK_END_TOKEN => "<block end>",
        YAML_FLOW_SEQUENCE_START_TOKEN => "[",
        YAML_FLOW_SEQUENCE_END_TOKEN => "]",
        YAML_FLOW_MAPPING_START_TOKEN => "{",
        YAML_FLOW_MAPPING_END_TOKEN => "}",
        YAML_BLOCK_ENTRY_TOKEN => "-",
        YAML_FLOW_ENTRY_TOKEN => ",",
        YAML_KEY_TOKEN => "?",
        YAML_VALUE_TOKEN => ":",
        YAML_ALIAS_TOKEN => "<alias>",
        YAML_ANCHOR_TOKEN => "<anchor>",
        YAML_TAG_TOKEN => "<tag>",
        YAML_SCALAR_TOKEN => "<scalar>",
        _ => return None,
    })
}

/// # Safety
/// The pointer is null or leads to a text that ends with a null.
unsafe fn constant(pointer: *const c_char) -> Option<String> {
    // SAFETY: what the caller promises.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

/// # Safety
/// As for [`constant`]. libyaml has checked that the text is UTF-8.
unsafe fn name(pointer: *const u8) -> Option<String> {
    // SAFETY: what the caller promises.
    unsafe { constant(pointer.cast()) }
}

/// # Safety
/// The event was filled in by libyaml and not deleted yet.
unsafe fn copied(event: &unsafe_libyaml::yaml_event_t) -> Event {
    use unsafe_libyaml::yaml_event_type_t::*;
    // SAFETY: the type of the event says which part of the union is filled in.
    unsafe {
        match event.type_ {
            YAML_STREAM_START_EVENT => Event::StreamStart,
            YAML_DOCUMENT_START_EVENT => Event::DocumentStart,
            YAML_DOCUMENT_END_EVENT => Event::DocumentEnd,
            YAML_ALIAS_EVENT => Event::Alias(name(event.data.alias.anchor).unwrap_or_default()),
            YAML_SCALAR_EVENT => {
                let scalar = &event.data.scalar;
                let length = usize::try_from(scalar.length).unwrap_or_default();
                let bytes = std::slice::from_raw_parts(scalar.value, length);
                Event::Scalar {
                    head: Head {
                        anchor: name(scalar.anchor),
                        tag: name(scalar.tag),
                    },
                    text: String::from_utf8_lossy(bytes).into_owned(),
                    is_plain: scalar.plain_implicit,
                }
            }
            YAML_SEQUENCE_START_EVENT => Event::SequenceStart(Head {
                anchor: name(event.data.sequence_start.anchor),
                tag: name(event.data.sequence_start.tag),
            }),
            YAML_SEQUENCE_END_EVENT => Event::SequenceEnd,
            YAML_MAPPING_START_EVENT => Event::MappingStart(Head {
                anchor: name(event.data.mapping_start.anchor),
                tag: name(event.data.mapping_start.tag),
            }),
            YAML_MAPPING_END_EVENT => Event::MappingEnd,
            // What is left is the end, and the "no event" that follows it.
            _ => Event::StreamEnd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Result<Vec<Event>, Problem> {
        let mut events = Events::of(text);
        let mut all = Vec::new();
        loop {
            let (event, _) = events.next()?;
            if event == Event::StreamEnd {
                return Ok(all);
            }
            all.push(event);
        }
    }

    #[test]
    fn events_come_with_what_stands_before_a_node() {
        let scalar = |text: &str, is_plain| Event::Scalar {
            head: Head::default(),
            text: text.to_owned(),
            is_plain,
        };
        let head = Head {
            anchor: Some("x".to_owned()),
            tag: Some("!t".to_owned()),
        };
        assert_eq!(
            events("a: &x !t [ü, 'b', *x]").unwrap(),
            [
                Event::StreamStart,
                Event::DocumentStart,
                Event::MappingStart(Head::default()),
                scalar("a", true),
                Event::SequenceStart(head),
                scalar("ü", true),
                scalar("b", false),
                Event::Alias("x".to_owned()),
                Event::SequenceEnd,
                Event::MappingEnd,
                Event::DocumentEnd,
            ]
        );
    }

    #[test]
    fn problems_have_a_place_and_tokens_names() {
        let text = "a: [b\nc: d";
        let problem = events(text).unwrap_err();
        assert_eq!(problem.text, "did not find expected ',' or ']'");
        assert_eq!(problem.context.as_deref(), Some("while parsing a flow sequence"));
        assert_eq!((problem.mark.line, problem.mark.column), (1, 1));
        let token = Tokens::of(text).find(|token| token.start == problem.mark);
        assert_eq!(token.map(|token| token.name), Some(":"));
    }

    #[test]
    fn places_are_counted_in_characters() {
        for text in ["ä: \"üöß\"\n日本: [b\nc: d", "\u{feff}ä: \"üöß\"\n日本: [b\nc: d"] {
            let before = |place: usize| text.chars().take(place).collect::<String>();
            let problem = events(text).unwrap_err();
            assert!(before(problem.mark.index).ends_with("[b\nc"), "{problem:?}");
            assert!(before(problem.context_mark.index).ends_with("日本: "), "{problem:?}");
            let values = Tokens::of(text).filter(|token| token.name == ":");
            let ends: Vec<String> = values.map(|token| before(token.end.index)).collect();
            assert!(ends[0].ends_with("ä:") && ends[1].ends_with("日本:"), "{ends:?}");
        }
    }
}
