//! Where in a text a part of the document is, for messages that show the line.

use std::collections::{HashMap, HashSet};

use super::DEEPEST_NESTING;
use super::events::Mark;
use super::tags::Tag;
use super::tree::{Content, Node, NodeId, Tree};

/// The places of a document's parts. JSON has places too: nearly all of it is YAML.
#[derive(Debug)]
pub struct Places {
    tree: Tree,
    /// The entries of maps that are too long to be looked through: where each key is written, and what is there. Of equal
    /// keys the last one counts.
    entries: HashMap<NodeId, HashMap<String, (NodeId, NodeId)>>,
}

/// The keys of a shorter map are looked through.
const LONG_MAP: usize = 16;
/// A written step with more places where it might end is looked for key by key.
const MOST_ENDS: usize = 64;

/// How far a written path leads.
struct Walk<'p> {
    /// Where the last part that exists is written.
    mark: Option<Mark>,
    node: Option<NodeId>,
    /// The steps beyond it.
    rest: &'p str,
}

impl Places {
    /// `None` for a text that is no document.
    pub fn of(text: &str) -> Option<Self> {
        let tree = Tree::of(text, DEEPEST_NESTING).ok()?;
        let maps = tree
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(node, found)| match &found.content {
                Content::Mapping(pairs) if pairs.len() >= LONG_MAP => Some((node, pairs)),
                _ => None,
            });
        let entry = |(key, value): &(NodeId, NodeId)| match &tree.nodes[*key].content {
            Content::Scalar(text) => Some((text.clone(), (*key, *value))),
            _ => None,
        };
        let entries = maps.map(|(node, pairs)| (node, pairs.iter().filter_map(entry).collect()));
        Some(Self {
            entries: entries.collect(),
            tree,
        })
    }

    /// The place of the part at a path of names and indices, or of the nearest part around it that exists. Points to
    /// the key where there is one.
    pub fn find<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Option<Mark> {
        let mut node = self.tree.root?;
        let mut mark = None;
        for step in path {
            let Some((place, next)) = self.step(node, step) else {
                break;
            };
            mark = Some(self.tree.nodes[place].start);
            node = next;
        }
        mark
    }

    /// As [`find`](Self::find), for a path as messages write it: `resources.a.properties.list[0].x`. Names may hold dots
    /// themselves: the longest key that fits is meant.
    pub fn find_written(&self, path: &str) -> Option<Mark> {
        self.walk_written(path).mark
    }

    /// Whether there is a part at a path as messages write it.
    pub fn is_written(&self, path: &str) -> bool {
        self.walk_written(path).rest.is_empty()
    }

    /// The word at a written path that YAML takes for true or false, where it is not one of these.
    pub fn word_for_truth(&self, path: &str) -> Option<&str> {
        let walk = self.walk_written(path);
        let node = &self.tree.nodes[walk.node.filter(|_| walk.rest.is_empty())?];
        let is_plain = |word: &str| word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("false");
        match &node.content {
            Content::Scalar(word) if node.tag == Tag::Bool && !is_plain(word) => Some(word),
            _ => None,
        }
    }

    fn walk_written<'p>(&self, path: &'p str) -> Walk<'p> {
        let mut walk = Walk {
            mark: None,
            node: self.tree.root,
            rest: path,
        };
        while let Some(node) = walk.node {
            walk.rest = walk.rest.trim_start_matches('.');
            let Some((place, next, length)) = self.written_step(node, walk.rest) else {
                break;
            };
            walk.mark = Some(self.tree.nodes[place].start);
            walk.node = Some(next);
            walk.rest = &walk.rest[length..];
        }
        walk
    }

    /// The first step of a written path: where it is written, what is there, and how long the step is.
    fn written_step(&self, node: NodeId, path: &str) -> Option<(NodeId, NodeId, usize)> {
        match &self.tree.nodes[node].content {
            Content::Scalar(_) => None,
            Content::Sequence(_) => {
                let end = path.find(']')?;
                let (place, next) = self.step(node, path.get(1..end).filter(|_| path.starts_with('['))?)?;
                Some((place, next, end + 1))
            }
            Content::Mapping(pairs) => {
                let ends_of_step = || path.match_indices(['.', '[']).map(|(end, _)| end).chain([path.len()]);
                let found = |end: usize| {
                    let (place, next) = self.step(node, &path[..end])?;
                    Some((place, next, end))
                };
                // A name of dots might end anywhere.
                if ends_of_step().nth(MOST_ENDS).is_none() {
                    let ends: Vec<usize> = ends_of_step().filter(|end| *end > 0).collect();
                    return ends.into_iter().rev().find_map(found);
                }
                let keys = pairs
                    .iter()
                    .filter_map(|(key, _)| match &self.tree.nodes[*key].content {
                        Content::Scalar(key) if !key.is_empty() => Some(key),
                        _ => None,
                    });
                let is_step = |key: &&String| {
                    let after = path.strip_prefix(key.as_str());
                    after.is_some_and(|after| after.is_empty() || after.starts_with(['.', '[']))
                };
                let longest = keys.filter(is_step).map(String::len).max()?;
                found(longest)
            }
        }
    }

    /// Keys that stand more than once in one map, and where each stands before the last time, which is the one that counts.
    pub fn repeated_keys(&self) -> Vec<(&str, Mark)> {
        let mut repeated = Vec::new();
        for node in &self.tree.nodes {
            let Content::Mapping(pairs) = &node.content else {
                continue;
            };
            let mut later = HashSet::new();
            for (key, _) in pairs.iter().rev() {
                let key = &self.tree.nodes[*key];
                match &key.content {
                    // Each merge counts.
                    Content::Scalar(text) if text != "<<" && !later.insert(text) => {
                        repeated.push((text.as_str(), key.start));
                    }
                    _ => {}
                }
            }
        }
        repeated.sort_by_key(|(_, mark)| (mark.line, mark.column));
        repeated
    }

    /// Where numbers stand that are none: `.nan`, which no stack can hold.
    pub fn not_numbers(&self) -> Vec<Mark> {
        let is_nan = |node: &&Node| {
            let is_written = |text: &str| text.eq_ignore_ascii_case(".nan");
            node.tag == Tag::Float && matches!(&node.content, Content::Scalar(text) if is_written(text))
        };
        self.tree.nodes.iter().filter(is_nan).map(|node| node.start).collect()
    }

    /// Whether there is a part at the path.
    pub fn contains<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> bool {
        let mut node = self.tree.root;
        for step in path {
            node = node.and_then(|node| self.step(node, step)).map(|(_, next)| next);
        }
        node.is_some()
    }

    /// Where a step is written, and what is there. Of equal keys the last one counts.
    fn step(&self, node: NodeId, step: &str) -> Option<(NodeId, NodeId)> {
        match &self.tree.nodes[node].content {
            Content::Scalar(_) => None,
            Content::Sequence(items) => {
                let item = *items.get(step.parse::<usize>().ok()?)?;
                Some((item, item))
            }
            Content::Mapping(pairs) => {
                match self.entries.get(&node) {
                    Some(entries) => entries.get(step).copied(),
                    None => pairs.iter().rev().copied().find(
                        |(key, _)| matches!(&self.tree.nodes[*key].content, Content::Scalar(text) if text == step),
                    ),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found() {
        let places = Places::of("a:\n  b: [x, {c: d}]\n").unwrap();
        let find = |path: &[&str]| places.find(path.iter().copied()).map(|mark| (mark.line, mark.column));
        assert_eq!(find(&["a", "b"]), Some((1, 2)));
        assert_eq!(find(&["a", "b", "1", "c"]), Some((1, 10)));
        assert_eq!(find(&["a", "missing", "x"]), Some((0, 0)));
        assert_eq!(find(&[]), None);

        let places = Places::of("a: 1\na.b:\n  - c[0]: x\n").unwrap();
        let find = |path: &str| places.find_written(path).map(|mark| (mark.line, mark.column));
        assert_eq!(find("a.b[0].c[0]"), Some((2, 4)));
        assert_eq!(find("a.b[7].c"), Some((1, 0)));
        assert_eq!(find("a.c"), Some((0, 0)));
        assert_eq!(find("x"), None);
        assert!(places.is_written("a.b[0].c[0]") && !places.is_written("a.b[7]") && !places.is_written("a.c"));
    }

    #[test]
    fn long_maps_are_as_short_ones() {
        let keys = |count: usize| (0..count).map(|number| format!("k{number}.x: [{number}]\n"));
        let text: String = keys(LONG_MAP).chain(keys(3)).collect();
        let places = Places::of(&text).unwrap();
        let find = |path: &str| places.find_written(path).map(|mark| (mark.line, mark.column));
        assert_eq!(find("k9.x[0]"), Some((9, 7)));
        assert_eq!(find("k2.x"), Some((LONG_MAP + 2, 0)));
        assert_eq!(find("k2"), None);
        let dots = format!("k4.x{}", ".".repeat(MOST_ENDS));
        assert_eq!(find(&dots), Some((4, 0)));
    }

    #[test]
    fn words_for_truth_are_found() {
        let places = Places::of("a: [yes, 'yes', true, Off, maybe]\nb: on\n").unwrap();
        let words = ["a[0]", "a[1]", "a[2]", "a[3]", "a[4]", "b", "b.c", "c"].map(|path| places.word_for_truth(path));
        assert_eq!(
            words,
            [Some("yes"), None, None, Some("Off"), None, Some("on"), None, None]
        );
    }

    #[test]
    fn numbers_that_are_none_are_found() {
        let places = Places::of("a: [.nan, '.nan', .NaN]\nb: .inf\n").unwrap();
        let found: Vec<usize> = places.not_numbers().into_iter().map(|mark| mark.column).collect();
        assert_eq!(found, [4, 18]);
    }

    #[test]
    fn keys_that_are_repeated_are_found() {
        let places =
            Places::of("a: {x: 1, y: 2, x: 3}\nb: {x: 1}\na: 4\n? [c]\n: 1\n<<: {d: 1}\n<<: {e: 1}\na: 5\n").unwrap();
        let found = places.repeated_keys().into_iter();
        let found: Vec<(&str, usize, usize)> = found.map(|(key, mark)| (key, mark.line, mark.column)).collect();
        assert_eq!(found, [("a", 0, 0), ("x", 0, 4), ("a", 2, 0)]);
    }
}
