//! `OS::Heat::Delay`: a pause in the order of things.

use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use super::PHYSICAL_NAME_LIMIT;
use crate::python::number::PyNumber;
use crate::resource::constraints::Constraint;
use crate::resource::failure::Failure;
use crate::resource::instance::Instance;
use crate::resource::literal::Literal;
use crate::resource::plugin::{Plugin, Progress, ResourceType};
use crate::resource::properties::{Properties, PropertyError};
use crate::resource::rules::{Facts, Rule, Violation};
use crate::resource::schema::Property;
use crate::resource::state::Action;
use crate::resource::support::SupportStatus;

pub static TYPE: ResourceType = ResourceType {
    name: "OS::Heat::Delay",
    python_class: "Delay",
    description: "\
A resource that pauses for a configurable delay.

By manipulating the dependency relationships between resources in the
template, a delay can be inserted at an arbitrary point during e.g. stack
creation or deletion. They delay will occur after any resource that it
depends on during CREATE or SUSPEND, and before any resource that it
depends on during DELETE or RESUME. Similarly, it will occur before any
resource that depends on it during CREATE or SUSPEND, and after any
resource thet depends on it during DELETE or RESUME.

If a non-zero maximum jitter is specified, a random amount of jitter -
chosen with uniform probability in the range from 0 to the product of the
maximum jitter value and the jitter multiplier (1s by default) - is added
to the minimum delay time. This can be used, for example, in the scaled
unit of a large scaling group to prevent 'thundering herd' issues.",
    support: SupportStatus::since("11.0.0"),
    service: None,
    properties: PROPERTIES,
    attributes: &[],
    translation: &[],
    rules: &[Rule::Code(too_long)],
    physical_name_limit: PHYSICAL_NAME_LIMIT,
    plugin: &DelayPlugin,
};

const MIN_WAIT: &str = "min_wait";
const MAX_JITTER: &str = "max_jitter";
const JITTER_MULTIPLIER: &str = "jitter_multiplier";
const ACTIONS: &str = "actions";

static PROPERTIES: &[Property] = &[
    Property::number(MIN_WAIT)
        .describe("Minimum time in seconds to wait during the specified actions.")
        .default_int(0)
        .constrain(&[Constraint::range(Some(0), None)])
        .update_allowed(),
    Property::number(MAX_JITTER)
        .describe("Maximum jitter to add to the minimum wait time.")
        .default_int(0)
        .constrain(&[Constraint::range(Some(0), None)])
        .update_allowed(),
    Property::number(JITTER_MULTIPLIER)
        .describe("Number of seconds to multiply the maximum jitter value by.")
        .default_float(1.0)
        .constrain(&[Constraint::range(Some(0), None)])
        .update_allowed(),
    Property::list(ACTIONS)
        .describe("Actions during which the delay will occur.")
        .default_list(&[Literal::Text("CREATE")])
        .constrain(&[Constraint::one_of(&["CREATE", "DELETE", "SUSPEND", "RESUME"])])
        .update_allowed(),
];

struct DelayPlugin;

#[async_trait]
impl Plugin for DelayPlugin {
    async fn make(&self, _: &mut Instance) -> Result<(), Failure> {
        Ok(())
    }

    async fn settle(&self, instance: &mut Instance, action: Action, waited: Duration) -> Result<Progress, Failure> {
        progress(instance, action, waited)
    }

    async fn gone(&self, instance: &mut Instance, waited: Duration) -> Result<Progress, Failure> {
        progress(instance, Action::Delete, waited)
    }
}

/// It has to be over before the time of the stack is.
fn too_long(facts: &Facts<'_>) -> Option<Violation> {
    let number = |name| PyNumber::of(facts.get(name).scalar()?);
    let longest = Delay::from_numbers(number(MIN_WAIT)?, number(MAX_JITTER)?, number(JITTER_MULTIPLIER)?).longest();
    if longest.as_f64() <= facts.stack?.timeout.as_secs_f64() {
        return None;
    }
    // The colon at the end belongs to the text: it is where the oracle would name a place.
    let message = format!(
        "{} maximum delay {}s exceeds stack timeout.: ",
        TYPE.name,
        longest.text()
    );
    Some(Violation::invalid(MIN_WAIT, message))
}

fn progress(instance: &Instance, action: Action, waited: Duration) -> Result<Progress, Failure> {
    let acts = instance.properties.list(ACTIONS)?;
    if !acts.iter().any(|act| act == action.as_str()) {
        return Ok(Progress::Done);
    }
    let delay = Delay::of(&instance.properties)?.drawn_for(&instance.uuid, action);
    Ok(match delay.checked_sub(waited) {
        None | Some(Duration::ZERO) => Progress::Done,
        Some(remaining) => Progress::Again(remaining),
    })
}

struct Delay {
    least: PyNumber,
    most_jitter: PyNumber,
}

impl Delay {
    fn of(properties: &Properties) -> Result<Self, PropertyError> {
        let number = |name| {
            let value = properties.get(name)?;
            Ok(PyNumber::of(&value).unwrap_or(PyNumber::Int(0.into())))
        };
        Ok(Self::from_numbers(
            number(MIN_WAIT)?,
            number(MAX_JITTER)?,
            number(JITTER_MULTIPLIER)?,
        ))
    }

    fn from_numbers(least: PyNumber, jitter: PyNumber, multiplier: PyNumber) -> Self {
        let most_jitter = match (jitter, multiplier) {
            (PyNumber::Int(jitter), PyNumber::Int(multiplier)) => PyNumber::Int(jitter * multiplier),
            (jitter, multiplier) => PyNumber::Float(jitter.as_f64() * multiplier.as_f64()),
        };
        Self { least, most_jitter }
    }

    fn longest(&self) -> PyNumber {
        self.least.add(&self.most_jitter)
    }

    /// The delay of one action on one resource. Chance comes from the resource's own id, so that an engine that takes
    /// the wait over from another waits for the same moment.
    fn drawn_for(&self, uuid: &str, action: Action) -> Duration {
        let digest = Sha256::new()
            .chain_update(uuid)
            .chain_update(action.as_str())
            .finalize();
        let drawn = digest
            .iter()
            .take(8)
            .fold(0_u64, |drawn, byte| drawn << 8 | u64::from(*byte));
        let fraction = (drawn >> 11) as f64 / (1_u64 << 53) as f64;
        let seconds = self.least.as_f64() + self.most_jitter.as_f64() * fraction;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::testing;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[tokio::test]
    async fn it_waits_during_its_actions_only() {
        let (mut instance, _) = testing::instance(&TYPE, json!({"min_wait": 3, "actions": ["DELETE"]}));
        let plugin = TYPE.plugin;
        let settled = plugin.settle(&mut instance, Action::Create, seconds(0)).await.unwrap();
        assert_eq!(settled, Progress::Done);
        let gone = plugin.gone(&mut instance, seconds(1)).await.unwrap();
        assert_eq!(gone, Progress::Again(seconds(2)));
        let gone = plugin.gone(&mut instance, seconds(3)).await.unwrap();
        assert_eq!(gone, Progress::Done);
    }

    #[test]
    fn jitter_is_the_same_for_everybody_who_waits() {
        let properties = testing::properties(&TYPE, json!({"min_wait": 1, "max_jitter": 2, "jitter_multiplier": 60}));
        let delay = Delay::of(&properties).unwrap();
        let drawn = |uuid| delay.drawn_for(uuid, Action::Create);
        assert_eq!(drawn("one"), drawn("one"));
        assert_ne!(drawn("one"), drawn("two"));
        assert_ne!(drawn("one"), delay.drawn_for("one", Action::Delete));
        for uuid in ["a", "b", "c", "d", "e", "f"] {
            assert!((seconds(1)..seconds(121)).contains(&drawn(uuid)), "{:?}", drawn(uuid));
        }
    }

    #[test]
    fn a_delay_beyond_the_stacks_time_is_refused() {
        let broken = |given| testing::broken_rule(&TYPE, given);
        assert_eq!(broken(json!({"min_wait": 3600})), None);
        let refused = broken(json!({"min_wait": 3600, "max_jitter": 1, "jitter_multiplier": 2})).unwrap();
        assert_eq!(
            refused.message,
            "OS::Heat::Delay maximum delay 3602s exceeds stack timeout.: "
        );
        let refused = broken(json!({"min_wait": 3601})).unwrap();
        assert_eq!(
            refused.message,
            "OS::Heat::Delay maximum delay 3601.0s exceeds stack timeout.: "
        );
    }
}
