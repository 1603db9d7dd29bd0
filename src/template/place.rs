//! Where in a template something is: steps on the stack, written down only for a message.

use std::fmt;

#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// The way to where somebody began to look.
    Start(&'a [&'a str]),
    Entry(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl<'a> Place<'a> {
    #[must_use]
    pub fn entry(&'a self, key: &'a str) -> Self {
        Self::Entry(self, key)
    }

    #[must_use]
    pub fn item(&'a self, index: usize) -> Self {
        Self::Item(self, index)
    }

    /// The steps; an index belongs to the step before it.
    pub fn steps(&self) -> Vec<String> {
        match self {
            Self::Start(steps) => steps.iter().map(|step| (*step).to_owned()).collect(),
            Self::Entry(around, key) => {
                let mut steps = around.steps();
                steps.push((*key).to_owned());
                steps
            }
            Self::Item(around, index) => {
                let mut steps = around.steps();
                let last = steps.pop().unwrap_or_default();
                steps.push(format!("{last}[{index}]"));
                steps
            }
        }
    }
}

/// As Heat writes it: `resources.a.properties.list[0].x`.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.steps().join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_belong_to_the_step_before() {
        let start = Place::Start(&["resources", "a"]);
        let list = start.entry("list");
        let (outer, name) = (list.item(0), "x");
        let inner = outer.item(2);
        assert_eq!(inner.entry(name).to_string(), "resources.a.list[0][2].x");
        assert_eq!(inner.entry(name).steps(), ["resources", "a", "list[0][2]", "x"]);
        assert_eq!(Place::Start(&[]).item(1).steps(), ["[1]"]);
    }
}
