//! What is left of a stack's history, as far as two histories may be compared.

use std::collections::{BTreeMap, BTreeSet};

use super::site::{Site, Stack};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remains {
    pub stack: String,
    /// State, value, lock, replacement, template and requirements of each resource.
    pub resources: BTreeSet<String>,
    /// How often what happened to which.
    pub events: BTreeMap<String, usize>,
    pub sync_points: i64,
}

impl Remains {
    /// The same with another text in the place of one that is random.
    pub fn without(mut self, random: Option<&str>) -> Self {
        if let Some(random) = random {
            let hide = |text: &String| text.replace(random, "(random)");
            self.resources = self.resources.iter().map(hide).collect();
            let events = self.events.iter();
            self.events = events.map(|(event, times)| (hide(event), *times)).collect();
        }
        self
    }
}

impl Site {
    pub async fn remains(&self, stack: &Stack) -> Remains {
        let resources = format!(
            "SELECT CONCAT_WS(' ', r.name, r.action, r.status, IF(d.redact, 'hidden', d.value), r.engine_id, \
             r.replaces, r.replaced_by, IF(r.current_template_id = s.raw_template_id, 'current', 'old'), \
             (SELECT GROUP_CONCAT(o.name ORDER BY o.name) FROM resource o \
              WHERE o.stack_id = s.id AND JSON_CONTAINS(r.requires, CAST(o.id AS CHAR)))) \
             FROM resource r JOIN stack s ON s.id = r.stack_id \
             LEFT JOIN resource_data d ON d.resource_id = r.id AND d.`key` = 'value' WHERE s.id = '{}'",
            stack.id
        );
        let mut events = BTreeMap::new();
        for event in self.events(stack).await {
            *events.entry(event).or_default() += 1;
        }
        Remains {
            stack: self.state(stack).await,
            resources: self.texts(&resources).await.into_iter().collect(),
            events,
            sync_points: self.sync_points(stack).await,
        }
    }
}
