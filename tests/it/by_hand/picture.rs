//! The pictures of `inspect`, read as strictly as their languages are written down: every word has to be one, and what is
//! drawn has to be what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::convergence::site::{Site, Stack};
use crate::convergence::templates::{template, test_after};

/// Boxes by their ids, with their lines, and arrows between them.
#[derive(Debug, Default)]
struct Drawing {
    title: String,
    boxes: BTreeMap<String, Vec<String>>,
    arrows: BTreeSet<(String, String)>,
}

// ---------------------------------------------------------------------- DOT

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Name(String),
    Quoted(String),
    Sign(&'static str),
}

/// The words of the DOT language, without comments and HTML, which nobody writes here.
fn words_of(dot: &str) -> Vec<Word> {
    const SIGNS: [&str; 8] = ["->", "{", "}", "[", "]", "=", ";", ","];
    let mut words = Vec::new();
    let mut rest = dot.trim_start();
    while let Some(first) = rest.chars().next() {
        if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            words.push(Word::Sign(sign));
            rest = &rest[sign.len()..];
        } else if let Some(text) = rest.strip_prefix('"') {
            let (quoted, after) = quoted(text);
            words.push(Word::Quoted(quoted));
            rest = after;
        } else {
            let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '.';
            let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
            assert!(end > 0, "{first:?} begins no word of DOT: {rest:.80}");
            let name = &rest[..end];
            let starts_as_number = name.starts_with(|it: char| it.is_ascii_digit() || it == '.');
            assert!(!starts_as_number || name.parse::<f64>().is_ok(), "{name} is no ID");
            assert!(starts_as_number || !name.contains('.'), "{name} is no ID");
            words.push(Word::Name(name.to_owned()));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    words
}

/// Up to the closing quote. A backslash stands before a quote, a backslash, or the `n` of a new line.
fn quoted(text: &str) -> (String, &str) {
    let mut plain = String::new();
    let mut characters = text.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return (plain, &text[place + 1..]),
            '\\' => match characters.next() {
                Some((_, it @ ('"' | '\\'))) => plain.push(it),
                Some((_, 'n')) => plain.push('\n'),
                other => panic!("an escape that means nothing: {other:?}"),
            },
            '\n' => panic!("a string over several lines"),
            other => plain.push(other),
        }
    }
    panic!("a string without an end: {text:.80}");
}

struct Reader {
    words: std::iter::Peekable<std::vec::IntoIter<Word>>,
}

impl Reader {
    fn next(&mut self) -> Word {
        self.words.next().expect("more words")
    }

    fn takes(&mut self, sign: &'static str) -> bool {
        self.words.next_if_eq(&Word::Sign(sign)).is_some()
    }

    fn id(&mut self) -> String {
        match self.next() {
            Word::Name(id) | Word::Quoted(id) => id,
            other => panic!("{other:?} is no ID"),
        }
    }

    fn attributes(&mut self) -> BTreeMap<String, String> {
        let mut attributes = BTreeMap::new();
        if !self.takes("[") {
            return attributes;
        }
        while !self.takes("]") {
            let name = self.id();
            assert!(self.takes("="), "{name} has no value");
            let value = self.id();
            if name.to_lowercase().ends_with("color") {
                let hex = value.strip_prefix('#').unwrap_or_default();
                assert!(
                    hex.len() == 6 && hex.chars().all(|it| it.is_ascii_hexdigit()),
                    "{value}"
                );
            }
            assert!(attributes.insert(name, value).is_none(), "twice");
            let _ = self.takes(",") || self.takes(";");
        }
        attributes
    }
}

fn read_dot(dot: &str) -> Drawing {
    let mut reader = Reader {
        words: words_of(dot).into_iter().peekable(),
    };
    assert_eq!(reader.next(), Word::Name("digraph".to_owned()));
    reader.id();
    assert!(reader.takes("{"));
    let mut drawing = Drawing::default();
    while !reader.takes("}") {
        let id = reader.id();
        if reader.takes("=") {
            let value = reader.id();
            if id == "label" {
                drawing.title = value;
            }
        } else if reader.takes("->") {
            let to = reader.id();
            reader.attributes();
            assert!(drawing.arrows.insert((id, to)), "an arrow twice");
        } else {
            let attributes = reader.attributes();
            let is_default = ["graph", "node", "edge"].contains(&id.as_str());
            if !is_default {
                let label = attributes.get("label").unwrap_or_else(|| panic!("{id} has no label"));
                let lines = label.split('\n').map(str::to_owned).collect();
                assert!(drawing.boxes.insert(id, lines).is_none(), "a box twice");
            }
        }
        reader.takes(";");
    }
    assert_eq!(reader.words.next(), None, "something after the end");
    drawing.checked()
}

// ---------------------------------------------------------------------- Mermaid

fn read_mermaid(text: &str) -> Drawing {
    let mut drawing = Drawing::default();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("---"));
    let title = lines
        .next()
        .and_then(|line| line.strip_prefix("title: \""))
        .expect("a title");
    drawing.title = quoted(title).0;
    assert_eq!((lines.next(), lines.next()), (Some("---"), Some("flowchart LR")));
    let (mut used, mut defined) = (BTreeSet::new(), BTreeSet::new());
    for line in lines.map(|line| line.strip_prefix("  ").expect("it is indented")) {
        if let Some(class) = line.strip_prefix("classDef ") {
            let (name, style) = class.split_once(' ').expect("a style");
            assert!(style.split(',').all(|part| part.contains(":#")), "{style}");
            defined.insert(name.to_owned());
        } else if let Some((from, to)) = line.split_once(" --> ") {
            assert!(
                drawing.arrows.insert((from.to_owned(), to.to_owned())),
                "an arrow twice"
            );
        } else {
            let place = line.find('(').unwrap_or_else(|| panic!("what is {line:?}?"));
            let (id, shape) = line.split_at(place);
            let (shape, class) = shape.rsplit_once(":::").expect("a class");
            let label = shape.strip_prefix("(\"").and_then(|rest| rest.strip_suffix("\")"));
            let of_cleanup = || shape.strip_prefix("([\"").and_then(|rest| rest.strip_suffix("\"])"));
            let label = label.or_else(of_cleanup).unwrap_or_else(|| panic!("no shape: {shape}"));
            used.insert(class.to_owned());
            let lines = label.split("<br>").map(plain_of_mermaid).collect();
            assert!(drawing.boxes.insert(id.to_owned(), lines).is_none(), "a box twice");
        }
    }
    assert_eq!(used, defined);
    drawing.checked()
}

/// What Mermaid shows of a text in quotes: entities begin with `#`, and nothing else is markup.
fn plain_of_mermaid(text: &str) -> String {
    assert!(!text.contains(['"', '<', '>', '&']), "markup in {text}");
    let mut parts = text.split('#');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (entity, rest) = part.split_once(';').unwrap_or_else(|| panic!("no entity: {text}"));
        plain.push(match entity {
            "quot" => '"',
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "35" => '#',
            other => panic!("what is {other}?"),
        });
        plain.push_str(rest);
    }
    plain
}

impl Drawing {
    fn checked(self) -> Self {
        for (from, to) in &self.arrows {
            let are_boxes = self.boxes.contains_key(from) && self.boxes.contains_key(to);
            assert!(are_boxes, "an arrow from or to nowhere: {from} {to}");
        }
        self
    }

    /// Every name with all that comes before it, near or far. Many in one box stay one.
    fn before(&self) -> BTreeMap<String, BTreeSet<String>> {
        let names = |id: &String| members(&self.boxes[id][0]);
        let mut arrows = Vec::new();
        for (from, to) in &self.arrows {
            for name in names(from) {
                arrows.extend(names(to).into_iter().map(|after| (name.clone(), after)));
            }
        }
        closure(self.boxes.keys().flat_map(names), &arrows)
    }
}

fn members(line: &str) -> Vec<String> {
    match line.contains(" … ") {
        true => vec![line.to_owned()],
        false => line.split(", ").map(str::to_owned).collect(),
    }
}

fn closure(names: impl Iterator<Item = String>, arrows: &[(String, String)]) -> BTreeMap<String, BTreeSet<String>> {
    let mut direct: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in arrows {
        direct.entry(to).or_default().push(from);
    }
    names
        .map(|name| {
            let mut seen: BTreeSet<String> = BTreeSet::new();
            let mut open = vec![name.as_str()];
            while let Some(next) = open.pop() {
                for before in direct.get(next).into_iter().flatten() {
                    if seen.insert((*before).to_owned()) {
                        open.push(before);
                    }
                }
            }
            (name.clone(), seen)
        })
        .collect()
}

// ---------------------------------------------------------------------- a stack like none

/// Names with all that a picture could take for its own.
fn name_of(number: usize) -> String {
    const ODD: [&str; 6] = ["\"quoted\"", "<b>bold", "#1;", "back\\slash", "größe & co", "[x](y)"];
    match number % 10 {
        0 => format!("r{number} {}", ODD[number / 10 % ODD.len()]),
        _ => format!("r{number}"),
    }
}

/// Two hundred resources, each after up to three of those before it; as somebody else's dice fell once.
fn wild() -> Map<String, Value> {
    let mut dice: u64 = 4711;
    let mut roll = |sides: usize| {
        dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(dice >> 33).expect("a small number") % sides
    };
    let mut resources = Map::new();
    for number in 0..200_usize {
        let before: BTreeSet<usize> = (0..roll(4)).filter_map(|_| number.checked_sub(1 + roll(25))).collect();
        let before: Vec<String> = before.into_iter().map(name_of).collect();
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        let wait = if number % 40 == 20 { 90 } else { 0 };
        let properties = json!({"value": "x", "action_wait_secs": {"create": wait}});
        resources.insert(name_of(number), test_after(properties, &before));
    }
    resources
}

/// What the survey says that there is.
fn truth(site: &Site, stack: &Stack) -> BTreeMap<String, BTreeSet<String>> {
    let survey = site.survey(stack);
    let nodes = survey["nodes"].as_array().expect("nodes");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let names: BTreeMap<String, String> = nodes
        .iter()
        .map(|node| (text(&node["node"]), text(&node["resource"])))
        .collect();
    let mut arrows = Vec::new();
    for node in nodes {
        let required = node["requires"].as_array().expect("nodes");
        arrows.extend(
            required
                .iter()
                .map(|before| (names[&text(before)].clone(), text(&node["resource"]))),
        );
    }
    closure(names.values().cloned(), &arrows)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wild_graph_is_drawn_as_it_is() {
    let site = Site::passive("wild").await;
    let engine = site.engine().await;
    let resources = wild();
    let stack = site.create("wild", template(Value::Object(resources.clone()))).await;
    site.until_resource(&stack, &name_of(20), "CREATE_IN_PROGRESS").await;
    site.until_quiet().await;
    site.kill(engine).await;
    let truth = truth(&site, &stack);
    assert_eq!(truth.len(), resources.len());
    let draw = |format: &str, more: &[&str]| {
        let mut arguments = vec!["inspect", stack.id.as_str(), "--format", format];
        arguments.extend(more);
        let text = site.by_hand(&arguments).ended_with(0).out;
        // For whoever wants to look at it.
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wild{}.{format}", more.concat()));
        std::fs::write(file, &text).expect("it can be written");
        text
    };
    let all = [
        read_dot(&draw("dot", &["--all"])),
        read_mermaid(&draw("mermaid", &["--all"])),
    ];
    for drawing in &all {
        assert_eq!(drawing.title, "wild  CREATE_IN_PROGRESS");
        assert_eq!(drawing.boxes.len(), resources.len());
        assert_eq!(drawing.before(), truth);
        let states: BTreeSet<&str> = drawing.boxes.values().map(|lines| lines[2].as_str()).collect();
        let expected = [
            "at work: CREATE_IN_PROGRESS",
            "done: CREATE_COMPLETE",
            "waiting: INIT_COMPLETE",
        ];
        assert!(states.is_superset(&BTreeSet::from(expected)), "{states:?}");
    }
    // Put together it is the same in both languages, and less: what is done and over is one box.
    let (dot, mermaid) = (read_dot(&draw("dot", &[])), read_mermaid(&draw("mermaid", &[])));
    assert_eq!((&dot.boxes, &dot.arrows), (&mermaid.boxes, &mermaid.arrows));
    let counted: usize = dot.boxes.values().map(|lines| number_in(&lines[0])).sum();
    assert_eq!(counted, resources.len());
    let over = |lines: &[String]| lines[1] == "done, and nobody waits for them";
    let folded: Vec<_> = dot.boxes.iter().filter(|(_, lines)| over(lines)).collect();
    let survey = site.survey(&stack);
    let nodes = survey["nodes"].as_array().expect("nodes");
    let is_done = |id: &Value| {
        nodes
            .iter()
            .any(|node| node["node"] == *id && node["progress"] == "done")
    };
    let are_over = nodes.iter().filter(|node| {
        let after = node["required_by"].as_array().expect("nodes");
        node["progress"] == "done" && after.iter().all(is_done)
    });
    let are_over = are_over.count();
    let [(id, lines)] = folded.as_slice() else {
        panic!("{folded:#?}")
    };
    assert!(are_over > 20, "{are_over}");
    assert_eq!(number_in(&lines[0]), are_over);
    assert!(dot.arrows.iter().all(|(from, to)| from != *id && to != *id));
    // Whoever is not done has all those before it that are not done either.
    let before = dot.before();
    let open: BTreeSet<&str> = nodes
        .iter()
        .filter(|node| node["progress"] != "done")
        .filter_map(|node| node["resource"].as_str())
        .collect();
    for name in &open {
        let wanted = truth[*name].iter().filter(|before| open.contains(before.as_str()));
        let drawn = &before
            .get(*name)
            .unwrap_or_else(|| panic!("{name} has no box of its own"));
        assert!(wanted.clone().all(|before| drawn.contains(before)), "{name}");
    }
    site.close().await;
}

/// How many resources a box stands for: `a`, `a, b`, `a … z (26)`.
fn number_in(line: &str) -> usize {
    match line.rsplit_once(" (").filter(|_| line.contains(" … ")) {
        Some((_, number)) => number.trim_end_matches(')').parse().expect("a number"),
        None => line.split(", ").count(),
    }
}

#[test]
fn the_readers_are_strict() {
    let refuses = |dot: &str| {
        let dot = dot.to_owned();
        std::panic::catch_unwind(move || read_dot(&dot)).is_err()
    };
    assert_eq!(
        read_dot("digraph g { a [label = \"x\"]; b [label = \"y\\nz\"]; a -> b; }")
            .boxes
            .len(),
        2
    );
    for odd in [
        "graph g { }",
        "digraph g { a [label = \"x]; }",
        "digraph g { a [label = \"x\\q\"]; }",
        "digraph g { a [label = \"x\"]; a -> b; }",
        "digraph g { a [label = \"x\"]; a [label = \"x\"]; }",
        "digraph g { a [label = x-y]; }",
        "digraph g { a [label = \"x\", color = \"#12345\"]; }",
        "digraph g { a [label = \"x\"]; ",
        "digraph g { } }",
    ] {
        assert!(refuses(odd), "{odd}");
    }
}
