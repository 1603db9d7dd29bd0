//! A YAML document as a tree of nodes with places, before anything is made of it.

use std::borrow::Cow;
use std::collections::HashMap;

use super::complaint::Complaint;
use super::events::{Event, Events, Head, Mark, Problem};
use super::pairs;
use super::tags::Tag;
use crate::python::repr::repr_text;

/// A node's number in its tree. An alias is the number of the node that it stands for.
pub(super) type NodeId = usize;

#[derive(Debug)]
pub(super) struct Node {
    pub tag: Tag,
    pub content: Content,
    pub start: Mark,
}

#[derive(Debug)]
pub(super) enum Content {
    Scalar(String),
    Sequence(Vec<NodeId>),
    Mapping(Vec<(NodeId, NodeId)>),
}

impl Node {
    /// What messages call it.
    pub fn kind(&self) -> &'static str {
        match self.content {
            Content::Scalar(_) => "scalar",
            Content::Sequence(_) => "sequence",
            Content::Mapping(_) => "mapping",
        }
    }
}

#[derive(Debug)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    /// `None` for a text without any document.
    pub root: Option<NodeId>,
}

/// Why a text is no tree.
enum Refusal {
    Libyaml(Problem),
    Ours(Box<Complaint>),
}

impl Refusal {
    fn into_complaint(self, text: &str) -> Box<Complaint> {
        match self {
            Self::Libyaml(problem) => Complaint::of_libyaml(text, problem),
            Self::Ours(complaint) => complaint,
        }
    }
}

/// A collection that is being read.
struct Open {
    node: NodeId,
    /// Of a mapping: the key that waits for its value.
    key: Option<NodeId>,
}

struct Composer<'t> {
    text: &'t str,
    nodes: Vec<Node>,
    anchors: HashMap<String, NodeId>,
    open: Vec<Open>,
    root: Option<NodeId>,
    deepest: usize,
}

impl Tree {
    /// Reads a text of one document. Collections may be nested so deep.
    pub fn of(text: &str, deepest: usize) -> Result<Self, Box<Complaint>> {
        let mut text = Cow::Borrowed(text);
        for _ in 0..pairs::MOST {
            match Self::of_events(&text, deepest) {
                Err(Refusal::Libyaml(problem)) if let Some(joined) = pairs::joined(&text, &problem) => {
                    text = Cow::Owned(joined);
                }
                read => return read.map_err(|refusal| refusal.into_complaint(&text)),
            }
        }
        Self::of_events(&text, deepest).map_err(|refusal| refusal.into_complaint(&text))
    }

    fn of_events(text: &str, deepest: usize) -> Result<Self, Refusal> {
        let mut composer = Composer {
            text,
            nodes: Vec::new(),
            anchors: HashMap::new(),
            open: Vec::new(),
            root: None,
            deepest,
        };
        let mut events = Events::of(text);
        loop {
            let (event, start) = events.next().map_err(Refusal::Libyaml)?;
            let taken = match event {
                Event::StreamEnd => break,
                Event::DocumentStart => composer.start_document(start),
                event => composer.take(event, start),
            };
            taken.map_err(Refusal::Ours)?;
        }
        Ok(Self {
            nodes: composer.nodes,
            root: composer.root,
        })
    }
}

impl Composer<'_> {
    fn start_document(&self, start: Mark) -> Result<(), Box<Complaint>> {
        let Some(first) = self.root else {
            return Ok(());
        };
        Err(Complaint::new("but found another document", start)
            .within("expected a single document in the stream", self.nodes[first].start)
            .in_text(self.text))
    }

    fn take(&mut self, event: Event, start: Mark) -> Result<(), Box<Complaint>> {
        match event {
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor) else {
                    let message = format!("found undefined alias {}", repr_text(&anchor));
                    return Err(Complaint::new(message, start).in_text(self.text));
                };
                self.attach(*node);
            }
            Event::Scalar { head, text, is_plain } => {
                let tag = match head.tag.clone() {
                    Some(tag) if tag != "!" => Tag::named(tag),
                    _ if is_plain => Tag::of_plain(&text),
                    _ => Tag::Str,
                };
                self.add(head, tag, Content::Scalar(text), start)?;
            }
            Event::SequenceStart(head) => self.open(head, Tag::Seq, Content::Sequence(Vec::new()), start)?,
            Event::MappingStart(head) => self.open(head, Tag::Map, Content::Mapping(Vec::new()), start)?,
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, head: Head, usual: Tag, content: Content, start: Mark) -> Result<(), Box<Complaint>> {
        if self.open.len() >= self.deepest {
            let message = format!("the document is nested more than {} levels deep", self.deepest);
            return Err(Complaint::limit(message, start).in_text(self.text));
        }
        let tag = match head.tag.clone() {
            Some(tag) if tag != "!" => Tag::named(tag),
            _ => usual,
        };
        let node = self.add(head, tag, content, start)?;
        self.open.push(Open { node, key: None });
        Ok(())
    }

    fn add(&mut self, head: Head, tag: Tag, content: Content, start: Mark) -> Result<NodeId, Box<Complaint>> {
        let id = self.nodes.len();
        if let Some(anchor) = head.anchor {
            if let Some(first) = self.anchors.get(&anchor) {
                let context = format!("found duplicate anchor {}; first occurrence", repr_text(&anchor));
                return Err(Complaint::new("second occurrence", start)
                    .within(context, self.nodes[*first].start)
                    .in_text(self.text));
            }
            self.anchors.insert(anchor, id);
        }
        self.nodes.push(Node { tag, content, start });
        self.attach(id);
        Ok(id)
    }

    fn attach(&mut self, id: NodeId) {
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(id);
            return;
        };
        match &mut self.nodes[parent.node].content {
            Content::Sequence(items) => items.push(id),
            Content::Mapping(pairs) => match parent.key.take() {
                Some(key) => pairs.push((key, id)),
                None => parent.key = Some(id),
            },
            Content::Scalar(_) => {}
        }
    }
}
