//! What is to be checked: a frame that somebody has kept, or a node by its name.

use std::io::Read;

use anyhow::{Context, bail};

use crate::messaging::CapturedRequest;

#[derive(Debug)]
pub enum Target {
    Frame {
        /// The file's name, or `stdin`.
        from: String,
        request: CapturedRequest,
    },
    Node(NodeName),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeName {
    pub stack: String,
    /// Its name, or the id of its row.
    pub resource: String,
    /// `None`: whichever of the two is due.
    pub is_update: Option<bool>,
}

impl Target {
    /// `limit`: bytes of a frame.
    pub fn read(text: &str, limit: usize) -> anyhow::Result<Self> {
        if text == "-" {
            return frame("stdin", std::io::stdin().lock(), limit);
        }
        let found = std::fs::metadata(text);
        if let Ok(found) = &found
            && found.is_file()
        {
            let size = found.len();
            if usize::try_from(size).is_ok_and(|size| size > limit) {
                bail!("{text} is too large for a frame: it has {size} bytes, of at most {limit}");
            }
            let file = std::fs::File::open(text).with_context(|| format!("cannot read {text}"))?;
            return frame(text, file, limit);
        }
        match NodeName::read(text) {
            Some(node) => Ok(Self::Node(node)),
            None if found.is_ok() => bail!(
                "{text} is no regular file, and it does not read STACK/RESOURCE; a frame from elsewhere can be piped into \
                 `--once -`"
            ),
            None => bail!("there is no file {text}, and it does not read STACK/RESOURCE"),
        }
    }
}

fn frame(from: &str, source: impl Read, limit: usize) -> anyhow::Result<Target> {
    let mut body = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    source
        .take(most)
        .read_to_end(&mut body)
        .with_context(|| format!("cannot read {from}"))?;
    if body.len() > limit {
        bail!("{from} is too large for a frame: it has more than {limit} bytes");
    }
    let request =
        CapturedRequest::read(&body, limit).with_context(|| format!("{from} is no frame that can be replayed"))?;
    Ok(Target::Frame {
        from: from.to_owned(),
        request,
    })
}

impl NodeName {
    fn read(text: &str) -> Option<Self> {
        let (text, is_update) = match text.rsplit_once(':') {
            Some((name, "update")) => (name, Some(true)),
            Some((name, "cleanup")) => (name, Some(false)),
            _ => (text, None),
        };
        // Neither name can hold a slash.
        let (stack, resource) = text.split_once('/')?;
        let is_name = |name: &str| !name.is_empty() && !name.contains('/');
        (is_name(stack) && is_name(resource)).then(|| Self {
            stack: stack.to_owned(),
            resource: resource.to_owned(),
            is_update,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(stack: &str, resource: &str, is_update: Option<bool>) -> Option<NodeName> {
        Some(NodeName {
            stack: stack.to_owned(),
            resource: resource.to_owned(),
            is_update,
        })
    }

    #[test]
    fn a_node_is_named_by_stack_and_resource() {
        assert_eq!(NodeName::read("s/r"), node("s", "r", None));
        assert_eq!(NodeName::read("s/r:update"), node("s", "r", Some(true)));
        assert_eq!(NodeName::read("s/a:b:cleanup"), node("s", "a:b", Some(false)));
        for odd in ["s", "/r", "s/", "/tmp/frame", "s/r/x", ":update"] {
            assert_eq!(NodeName::read(odd), None, "{odd}");
        }
    }

    #[test]
    fn what_cannot_be_a_frame_says_why() {
        let error = |text: &str, limit| Target::read(text, limit).unwrap_err().to_string();
        assert!(error("/dev/zero", 100).starts_with("/dev/zero is no regular file, "));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let size = std::fs::metadata(source).unwrap().len();
        assert_eq!(
            error(source, 100),
            format!("{source} is too large for a frame: it has {size} bytes, of at most 100")
        );
        let piped = frame("stdin", std::io::repeat(b'x'), 100).unwrap_err().to_string();
        assert_eq!(piped, "stdin is too large for a frame: it has more than 100 bytes");
    }

    #[test]
    fn what_is_neither_file_nor_name_says_so() {
        let error = Target::read("/no/such/file", 100).unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no file /no/such/file, and it does not read STACK/RESOURCE"
        );
    }
}
