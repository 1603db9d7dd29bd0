//! Values from nodes, in two steps: what each node becomes (which may fail, in PyYAML's order: a collection first and
//! what is in it when all beside it have been looked at), and the value put together (which fails only where aliases make it too large).

use std::collections::{HashSet, VecDeque};

use base64::Engine as _;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::ReadError;
use super::complaint::Complaint;
use super::events::Mark;
use super::tags::{Tag, bool_value, float_value, int_value};
use super::tree::{Content, NodeId, Tree};
use crate::python::codec::check_encodable;
use crate::python::dumps;
use crate::python::repr::repr_text;
use crate::python::value::equals;
use crate::template::error::TemplateError;

/// What a node becomes.
#[derive(Debug)]
enum Shape {
    Unknown,
    /// Waiting for its turn.
    Queued,
    Scalar(Value),
    List(Vec<NodeId>),
    Map(IndexMap<String, NodeId>),
    /// The keys of a map, as a list: sets are lists in JSON.
    Keys(Vec<String>),
    Pairs(Vec<(NodeId, NodeId)>),
}

pub(super) struct Limits {
    /// How deep values may be nested, aliases followed.
    pub deepest: usize,
    /// How much text and how many items there may be, aliases followed.
    pub largest: usize,
}

/// The value of a document; `None` if there is none.
pub(super) fn value_of(tree: Tree, text: &str, limits: &Limits) -> Result<Option<Value>, ReadError> {
    let Some(root) = tree.root else {
        return Ok(None);
    };
    let mut shaper = Shaper {
        text,
        shapes: tree.nodes.iter().map(|_| Shape::Unknown).collect(),
        tree,
        queue: VecDeque::new(),
        left_to_merge: limits.largest / 8,
    };
    shaper.visit(root)?;
    while let Some(node) = shaper.queue.pop_front() {
        shaper.shape(node)?;
    }
    let mut assembler = Assembler {
        open: vec![false; shaper.shapes.len()],
        uses: uses(root, &shaper.shapes),
        shapes: shaper.shapes,
        left: limits.largest,
        deepest: limits.deepest,
    };
    assembler.assemble(root, 0, false).map(Some)
}

struct Shaper<'t> {
    text: &'t str,
    tree: Tree,
    shapes: Vec<Shape>,
    queue: VecDeque<NodeId>,
    left_to_merge: usize,
}

impl Shaper<'_> {
    fn complain(&self, message: impl Into<String>, at: NodeId) -> ReadError {
        Complaint::new(message, self.mark(at)).in_text(self.text).into()
    }

    fn complain_within(&self, context: &str, around: NodeId, message: impl Into<String>, at: NodeId) -> ReadError {
        Complaint::new(message, self.mark(at))
            .within(context, self.mark(around))
            .in_text(self.text)
            .into()
    }

    fn mark(&self, node: NodeId) -> Mark {
        self.tree.nodes[node].start
    }

    /// Decides scalars at once; collections wait.
    fn visit(&mut self, node: NodeId) -> Result<(), ReadError> {
        if !matches!(self.shapes[node], Shape::Unknown) {
            return Ok(());
        }
        let tag = &self.tree.nodes[node].tag;
        if let Some(name) = tag.without_value() {
            let message = format!("could not determine a constructor for the tag {}", repr_text(&name));
            return Err(self.complain(message, node));
        }
        if matches!(tag, Tag::Seq | Tag::Map | Tag::Set | Tag::OrderedMap | Tag::Pairs) {
            self.queue.push_back(node);
            self.shapes[node] = Shape::Queued;
            return Ok(());
        }
        self.shapes[node] = Shape::Scalar(self.scalar_value(node)?);
        Ok(())
    }

    fn scalar_value(&mut self, node: NodeId) -> Result<Value, ReadError> {
        let tag = self.tree.nodes[node].tag.clone();
        if tag == Tag::Str || tag == Tag::Timestamp {
            // The text is not needed any more: take it.
            if let Content::Scalar(text) = &mut self.tree.nodes[node].content {
                return Ok(Value::String(std::mem::take(text)));
            }
        }
        let text = self.scalar_text(node)?;
        let value = match tag {
            Tag::Null => Ok(Value::Null),
            Tag::Bool => bool_value(&text),
            Tag::Int => int_value(&text),
            Tag::Float => float_value(&text),
            Tag::Binary => return self.binary_value(&text, node),
            _ => Ok(Value::String(text)),
        };
        value.map_err(|error| ReadError::Value {
            error,
            mark: self.mark(node),
        })
    }

    /// The text of a scalar, or of a map's value `=`.
    fn scalar_text(&self, node: NodeId) -> Result<String, ReadError> {
        let mut at = node;
        // A map may lead back to itself; nobody writes longer ways than this.
        for _ in 0..8 {
            match &self.tree.nodes[at].content {
                Content::Scalar(text) => {
                    let taken = match &self.shapes[at] {
                        Shape::Scalar(Value::String(taken)) => taken,
                        _ => text,
                    };
                    return Ok(taken.clone());
                }
                Content::Mapping(pairs) => {
                    let value = pairs.iter().find(|(key, _)| self.tree.nodes[*key].tag == Tag::Value);
                    match value {
                        Some((_, value)) => at = *value,
                        None => break,
                    }
                }
                Content::Sequence(_) => break,
            }
        }
        let kind = self.tree.nodes[at].kind();
        Err(self.complain(format!("expected a scalar node, but found {kind}"), at))
    }

    /// JSON has no bytes: they are the text that they encode, as where Heat writes them into a row.
    fn binary_value(&self, text: &str, node: NodeId) -> Result<Value, ReadError> {
        if let Err(error) = check_encodable(text, "ascii", 0x80) {
            let message = format!("failed to convert base64 data into ascii: {error}");
            return Err(self.complain(message, node));
        }
        let is_data = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        let data: Vec<u8> = text.bytes().take_while(|byte| *byte != b'=').filter(is_data).collect();
        let padding = text.bytes().filter(|byte| *byte == b'=').count();
        let problem = match data.len() % 4 {
            0 => None,
            1 => Some(format!(
                "Invalid base64-encoded string: number of data characters ({}) cannot be 1 more than a multiple of 4",
                data.len()
            )),
            rest if rest + padding < 4 => Some("Incorrect padding".to_owned()),
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(self.complain(format!("failed to decode base64 data: {problem}"), node));
        }
        let config = base64::engine::GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent);
        let engine = base64::engine::GeneralPurpose::new(&base64::alphabet::STANDARD, config);
        let decoded = engine.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        decoded.map(Value::String).ok_or_else(|| ReadError::Value {
            error: TemplateError::value_error("binary data in the document is no UTF-8 text"),
            mark: self.mark(node),
        })
    }

    fn shape(&mut self, node: NodeId) -> Result<(), ReadError> {
        let shape = match self.tree.nodes[node].tag {
            Tag::Seq => self.list(node)?,
            Tag::Set => Shape::Keys(self.map(node)?.into_keys().collect()),
            Tag::OrderedMap => self.pairs(node, "while constructing an ordered map")?,
            Tag::Pairs => self.pairs(node, "while constructing pairs")?,
            _ => Shape::Map(self.map(node)?),
        };
        self.shapes[node] = shape;
        Ok(())
    }

    fn list(&mut self, node: NodeId) -> Result<Shape, ReadError> {
        let Content::Sequence(items) = &mut self.tree.nodes[node].content else {
            let kind = self.tree.nodes[node].kind();
            return Err(self.complain(format!("expected a sequence node, but found {kind}"), node));
        };
        let items = std::mem::take(items);
        for item in &items {
            self.visit(*item)?;
        }
        Ok(Shape::List(items))
    }

    fn map(&mut self, node: NodeId) -> Result<IndexMap<String, NodeId>, ReadError> {
        self.flatten(node, 0)?;
        let Content::Mapping(pairs) = &self.tree.nodes[node].content else {
            let kind = self.tree.nodes[node].kind();
            return Err(self.complain(format!("expected a mapping node, but found {kind}"), node));
        };
        let pairs = pairs.clone();
        let mut entries = Entries::default();
        for (key, value) in pairs {
            self.visit(key)?;
            let Shape::Scalar(key) = &self.shapes[key] else {
                return Err(self.complain_within("while constructing a mapping", node, "found unhashable key", key));
            };
            let key = entries.key(key);
            self.visit(value)?;
            entries.put(key, value);
        }
        Ok(entries.into_map())
    }

    /// Puts what is merged (`<<`) before a map's own entries.
    fn flatten(&mut self, node: NodeId, depth: usize) -> Result<(), ReadError> {
        if depth > LONGEST_CHAIN_OF_MERGES {
            let message = format!("more than {LONGEST_CHAIN_OF_MERGES} merges lead on to each other");
            return Err(Complaint::limit(message, self.mark(node)).in_text(self.text).into());
        }
        let nodes = &mut self.tree.nodes;
        let Content::Mapping(pairs) = &nodes[node].content else {
            return Ok(());
        };
        let is_special = |(key, _): &(NodeId, NodeId)| matches!(nodes[*key].tag, Tag::Merge | Tag::Value);
        if !pairs.iter().any(is_special) {
            return Ok(());
        }
        // A map that is merged into itself is met again empty.
        let pairs = match &mut nodes[node].content {
            Content::Mapping(pairs) => std::mem::take(pairs),
            _ => Vec::new(),
        };
        let mut own = Vec::new();
        let mut merged = Merged::default();
        for (key, value) in pairs {
            match self.tree.nodes[key].tag {
                Tag::Merge => self.merge(node, value, &mut merged, depth)?,
                Tag::Value => {
                    self.tree.nodes[key].tag = Tag::Str;
                    own.push((key, value));
                }
                _ => own.push((key, value)),
            }
        }
        merged.pairs.extend(own);
        self.tree.nodes[node].content = Content::Mapping(merged.pairs);
        Ok(())
    }

    fn merge(&mut self, into: NodeId, from: NodeId, merged: &mut Merged, depth: usize) -> Result<(), ReadError> {
        const CONTEXT: &str = "while constructing a mapping";
        let sources = match &self.tree.nodes[from].content {
            Content::Mapping(_) => vec![from],
            Content::Sequence(items) => items.clone(),
            Content::Scalar(_) => {
                let message = "expected a mapping or list of mappings for merging, but found scalar";
                return Err(self.complain_within(CONTEXT, into, message, from));
            }
        };
        for source in sources {
            if !matches!(self.tree.nodes[source].content, Content::Mapping(_)) {
                let kind = self.tree.nodes[source].kind();
                let message = format!("expected a mapping for merging, but found {kind}");
                return Err(self.complain_within(CONTEXT, into, message, source));
            }
            self.flatten(source, depth + 1)?;
            let Content::Mapping(pairs) = &self.tree.nodes[source].content else {
                continue;
            };
            self.left_to_merge = self
                .left_to_merge
                .checked_sub(pairs.len())
                .ok_or_else(|| too_large(Some(self.tree.nodes[into].start)))?;
            for (key, value) in pairs.clone() {
                if merged.seen.insert(self.identity(key)) {
                    merged.pairs.push((key, value));
                }
            }
        }
        Ok(())
    }

    /// What PyYAML tells merged keys apart by: their texts as objects in memory, of which short ones are shared.
    fn identity(&self, key: NodeId) -> Identity {
        let text = match (&self.shapes[key], &self.tree.nodes[key].content) {
            (Shape::Scalar(Value::String(text)), _) => text,
            (_, Content::Scalar(text)) => text,
            _ => return Identity::Node(key),
        };
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (None, _) => Identity::Text(None),
            (Some(only), None) if u32::from(only) < 0x100 => Identity::Text(Some(only)),
            _ => Identity::Node(key),
        }
    }

    fn pairs(&mut self, node: NodeId, context: &str) -> Result<Shape, ReadError> {
        let Content::Sequence(items) = &self.tree.nodes[node].content else {
            let kind = self.tree.nodes[node].kind();
            return Err(self.complain_within(context, node, format!("expected a sequence, but found {kind}"), node));
        };
        let mut pairs = Vec::new();
        for item in items.clone() {
            let wrong = match &self.tree.nodes[item].content {
                Content::Mapping(entries) => match entries.as_slice() {
                    [pair] => {
                        pairs.push(*pair);
                        None
                    }
                    entries => Some(format!(
                        "expected a single mapping item, but found {} items",
                        entries.len()
                    )),
                },
                _ => Some(format!(
                    "expected a mapping of length 1, but found {}",
                    self.tree.nodes[item].kind()
                )),
            };
            if let Some(message) = wrong {
                return Err(self.complain_within(context, node, message, item));
            }
            if let Some((key, value)) = pairs.last().copied() {
                self.visit(key)?;
                self.visit(value)?;
            }
        }
        Ok(Shape::Pairs(pairs))
    }
}

/// Python runs out of stack after some hundreds.
const LONGEST_CHAIN_OF_MERGES: usize = 200;

#[derive(Default)]
struct Merged {
    pairs: Vec<(NodeId, NodeId)>,
    seen: HashSet<Identity>,
}

#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Node(NodeId),
    Text(Option<char>),
}

/// The entries of a map as Python tells them apart, until JSON makes texts of all keys.
#[derive(Default)]
struct Entries {
    texts_and_others: IndexMap<Key, NodeId>,
    /// Keys that are no texts. Those that are equal in Python are one.
    others: Vec<Value>,
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Text(String),
    /// As JSON writes it.
    Other(String),
}

impl Entries {
    fn key(&mut self, key: &Value) -> Key {
        if let Value::String(text) = key {
            return Key::Text(text.clone());
        }
        if let Some(known) = self.others.iter().find(|known| equals(known, key)) {
            return Key::Other(dumps(known));
        }
        self.others.push(key.clone());
        Key::Other(dumps(key))
    }

    fn put(&mut self, key: Key, value: NodeId) {
        self.texts_and_others.insert(key, value);
    }

    fn into_map(self) -> IndexMap<String, NodeId> {
        let entries = self.texts_and_others.into_iter();
        entries
            .map(|(Key::Text(key) | Key::Other(key), value)| (key, value))
            .collect()
    }
}

fn too_large(mark: Option<Mark>) -> ReadError {
    ReadError::Value {
        error: TemplateError::RequestLimitExceeded {
            message: "the document is too large with its aliases followed".to_owned(),
        },
        mark: mark.unwrap_or_default(),
    }
}

/// How often each node is used.
fn uses(root: NodeId, shapes: &[Shape]) -> Vec<u32> {
    let mut uses = vec![0_u32; shapes.len()];
    let mut count = |node: NodeId| uses[node] = uses[node].saturating_add(1);
    count(root);
    for shape in shapes {
        match shape {
            Shape::List(items) => items.iter().copied().for_each(&mut count),
            Shape::Map(entries) => entries.values().copied().for_each(&mut count),
            Shape::Pairs(pairs) => pairs.iter().for_each(|(key, value)| {
                count(*key);
                count(*value);
            }),
            Shape::Unknown | Shape::Queued | Shape::Scalar(_) | Shape::Keys(_) => {}
        }
    }
    uses
}

struct Assembler {
    shapes: Vec<Shape>,
    uses: Vec<u32>,
    /// The collections that are being put together: one that is met again contains itself.
    open: Vec<bool>,
    left: usize,
    deepest: usize,
}

impl Assembler {
    /// `is_shared` tells whether an alias leads to a collection around the node.
    fn assemble(&mut self, node: NodeId, depth: usize, is_shared: bool) -> Result<Value, ReadError> {
        let weight = match &self.shapes[node] {
            Shape::Scalar(Value::String(text)) => 8 + text.len(),
            _ => 8,
        };
        self.left = self.left.checked_sub(weight).ok_or_else(|| too_large(None))?;
        let is_shared = is_shared || self.uses[node] > 1;
        if let Shape::Scalar(value) = &mut self.shapes[node] {
            return Ok(if is_shared { value.clone() } else { value.take() });
        }
        if self.open[node] {
            return Err(ReadError::Value {
                error: TemplateError::value_error("Circular reference detected"),
                mark: Mark::default(),
            });
        }
        if depth >= self.deepest {
            let message = format!("the document is nested more than {} levels deep", self.deepest);
            return Err(ReadError::Value {
                error: TemplateError::RequestLimitExceeded { message },
                mark: Mark::default(),
            });
        }
        self.open[node] = true;
        // Taken out while its parts are put together; needed again only where aliases lead here.
        let shape = std::mem::replace(&mut self.shapes[node], Shape::Queued);
        let value = match &shape {
            Shape::List(items) => {
                let items: Result<Vec<Value>, ReadError> = items
                    .iter()
                    .map(|item| self.assemble(*item, depth + 1, is_shared))
                    .collect();
                Value::Array(items?)
            }
            Shape::Map(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for (key, value) in entries {
                    self.left = self.left.checked_sub(key.len()).ok_or_else(|| too_large(None))?;
                    map.insert(key.clone(), self.assemble(*value, depth + 1, is_shared)?);
                }
                Value::Object(map)
            }
            Shape::Pairs(pairs) => {
                let pair = |(key, value): &(NodeId, NodeId)| {
                    let key = self.assemble(*key, depth + 1, is_shared)?;
                    Ok(Value::Array(vec![key, self.assemble(*value, depth + 1, is_shared)?]))
                };
                Value::Array(pairs.iter().map(pair).collect::<Result<_, ReadError>>()?)
            }
            Shape::Keys(keys) => Value::Array(keys.iter().map(|key| Value::from(key.as_str())).collect()),
            Shape::Unknown | Shape::Queued | Shape::Scalar(_) => Value::Null,
        };
        self.shapes[node] = shape;
        self.open[node] = false;
        Ok(value)
    }
}
