//! Compares exchanges, queues and bindings with what this engine would make.
//!
//! AMQP answers whether an exchange or a queue is as it is declared once more; it shows neither bindings nor policies, nor
//! which queues there are. RabbitMQ's management API does, where an operator says where it is. Nothing is made or bound.

use std::collections::BTreeSet;

use secrecy::ExposeSecret;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::broker::{self, Broker};
use super::names::{TOPICS, Use, shared_queues};
use super::report::{Area, Report};
use super::{PATIENCE, tell_silence};
use crate::cloud::{BrokerManagement, Cloud, CloudError};
use crate::exception::chain;
use crate::messaging::{
    BrokerLogin, Bus, ExchangeDeclaration, ExchangeKind, ExpectedQueue, Fit, Options, Permission, PublishError, Refusal,
};
use crate::rpc::{contract, worker};
use crate::settings::Settings;

/// Settings of a policy by which messages go before they are read, or queues before their time.
const LOSSY_POLICIES: [&str; 7] = [
    "message-ttl",
    "expires",
    "max-length",
    "max-length-bytes",
    "delivery-limit",
    "overflow",
    "dead-letter-exchange",
];

const SAME_OPTIONS: &str = "give all engines and heat-api the same amqp_durable_queues, rabbit_quorum_queue and their \
                            like; to change them stop all, delete the queues, start again";

pub async fn look(settings: &Settings, broker: &mut Broker, cloud: Option<&Cloud>, report: &mut Report) {
    let queues = match timeout(PATIENCE, compare(settings, broker, report)).await {
        Ok(Ok(queues)) => queues,
        Err(_) => return tell_silence(Area::Broker, "the broker", report),
        Ok(Err(error)) => {
            return report.problem(
                Area::Broker,
                format!("a question was not answered: {}", chain(&error)),
                "what the engine asks may fail too",
                "look into the log of the broker",
            );
        }
    };
    let url = settings.own.broker_management_url.as_ref();
    let (Some(url), Some(cloud)) = (url, cloud) else {
        return report.unseen(
            Area::Broker,
            "whether the queues are bound, and which policies hold for them: AMQP does not show it",
            "what is sent to a queue that is not bound reaches nobody, and a policy may drop messages",
            "set [heat_engine_rs] broker_management_url (http://USER:PASSWORD@BROKER:15672), or look with \
             `rabbitmqctl list_bindings -p VHOST` and `rabbitmqctl list_policies -p VHOST`",
        );
    };
    let asked = async {
        let login = BrokerLogin::of(Options::new(&settings.messaging)).ok();
        let (user, password, virtual_host) = login
            .map(|login| (login.user, login.password, login.virtual_host))
            .unwrap_or_default();
        let credentials = (user.as_str(), password.expose_secret());
        let management = cloud.broker_management(url.expose_secret(), credentials, &virtual_host)?;
        let listed = Listed::ask(&management).await?;
        Ok::<_, CloudError>((management, listed))
    };
    let answer = timeout(PATIENCE, asked).await;
    let answer = answer.map_err(|_| format!("no answer within {PATIENCE:?}"));
    match answer.and_then(|answer| answer.map_err(|error| told(&error))) {
        Ok((management, listed)) => {
            report.fine(
                Area::Broker,
                format!("the management API answers at {}", management.url()),
            );
            judge_listed(&broker.bus, &queues, &listed, report);
        }
        Err(error) => report.warning(
            Area::Broker,
            format!("the management API does not show the bindings: {error}"),
            "without it nobody sees here whether the queues are bound, and which policies hold for them",
            "correct [heat_engine_rs] broker_management_url; its user needs the tag `monitoring` or `management`, and \
             permissions on the virtual host",
        ),
    }
}

fn told(error: &CloudError) -> String {
    match error {
        CloudError::Http(error) => format!("it answers with HTTP {}", error.status),
        other => chain(other),
    }
}

/// Compares what AMQP can; the queues that are there.
async fn compare(settings: &Settings, broker: &mut Broker, report: &mut Report) -> Result<Vec<String>, PublishError> {
    let bus = &broker.bus;
    let (mut alike, mut hidden) = (Vec::new(), Vec::new());
    let mut lacks_control_exchange = false;
    for exchange in bus.expected_exchanges(&TOPICS) {
        match bus.examine_exchange(&exchange).await? {
            Fit::Fits => alike.push(format!("{} ({} exchange)", exchange.name, exchange.kind)),
            Fit::Missing => lacks_control_exchange |= exchange.kind == ExchangeKind::Topic,
            Fit::Differs(reason) => judge_exchange(&exchange, &reason, report),
            Fit::Refused(reason) => hidden.push((format!("{} ({} exchange)", exchange.name, exchange.kind), reason)),
            Fit::Unanswered(reason) => tell_unanswered(&format!("exchange {}", exchange.name), &reason, report),
        }
    }
    let mut present = Vec::new();
    for (name, use_of_it) in shared_queues(settings) {
        match bus.examine_queue(&name).await? {
            Fit::Fits => alike.push(name.clone()),
            Fit::Missing => continue,
            Fit::Differs(reason) => judge_queue(&bus.expected_queue(&name), use_of_it, &reason, report),
            Fit::Refused(reason) => hidden.push((name.clone(), reason)),
            Fit::Unanswered(reason) => tell_unanswered(&format!("queue {name}"), &reason, report),
        }
        present.push(name);
    }
    if !alike.is_empty() {
        report.fine(
            Area::Broker,
            format!("as this engine would make them: {}", alike.join(", ")),
        );
    }
    tell_hidden(&hidden, broker, report);
    if lacks_control_exchange && !present.is_empty() {
        report.problem(
            Area::Broker,
            format!(
                "there are queues ({}) and no exchange {} by which they are reached",
                present.join(", "),
                settings.messaging.transport.control_exchange
            ),
            "nothing that heat-api or an engine sends arrives",
            "restart an engine, which makes and binds it anew; if engines and heat-api differ in [DEFAULT] \
             control_exchange, give them the same one",
        );
    }
    Ok(present)
}

fn tell_unanswered(what: &str, reason: &str, report: &mut Report) {
    report.problem(
        Area::Broker,
        format!("the broker does not tell how {what} was made: {reason}"),
        "an engine that starts may get the same answer",
        "look into the log of the broker",
    );
}

/// What the user may not declare, each with the broker's words.
fn tell_hidden(hidden: &[(String, String)], broker: &mut Broker, report: &mut Report) {
    if hidden.is_empty() {
        return;
    }
    let refused: Vec<Refusal> = hidden
        .iter()
        .map(|(on, reason)| Refusal {
            permission: Permission::Configure,
            on: on.clone(),
            reason: reason.clone(),
        })
        .collect();
    // On names that nobody has made yet it was tried before, and told.
    if !broker
        .refused
        .iter()
        .any(|refusal| refusal.permission == Permission::Configure)
    {
        broker::tell_refusals(Permission::Configure, &refused, report);
    }
    broker.refused.extend(refused);
    report.unseen(
        Area::Broker,
        format!(
            "whether these are as this engine would make them: {}; the broker compares for those alone who may configure \
             them",
            join(hidden.iter().map(|(name, _)| name.as_str()))
        ),
        "what was made with other options cannot be used, and goes unnoticed",
        "give the user the permission that is named above, and look again",
    );
}

fn is_about_durability(reason: &str) -> bool {
    reason.contains("inequivalent arg 'durable'")
}

fn judge_exchange(exchange: &ExchangeDeclaration, reason: &str, report: &mut Report) {
    let what = format!("exchange {} was made with other options: {reason}", exchange.name);
    match is_about_durability(reason) {
        true => report.warning(
            Area::Broker,
            what,
            "it is used as it is, by engines of both kinds; somebody runs with other options",
            SAME_OPTIONS,
        ),
        false => report.problem(Area::Broker, what, "no engine can use it", SAME_OPTIONS),
    }
}

fn judge_queue(queue: &ExpectedQueue, use_of_it: Use, reason: &str, report: &mut Report) {
    let what = format!("queue {} was made with other options: {reason}", queue.name);
    match use_of_it {
        _ if is_about_durability(reason) && queue.durable => report.warning(
            Area::Broker,
            what,
            "it is used as it is, and goes with its messages when the broker restarts",
            SAME_OPTIONS,
        ),
        Use::Requests => report.problem(Area::Broker, what, "an engine cannot consume it", SAME_OPTIONS),
        Use::Notifications => report.problem(
            Area::Broker,
            what,
            "notifications are not sent",
            "give all engines and those who read the notifications the same amqp_durable_queues, rabbit_quorum_queue and \
             their like; delete the queue",
        ),
    }
}

/// What the management API lists.
struct Listed {
    queues: Vec<Value>,
    bindings: Vec<Value>,
}

impl Listed {
    async fn ask(management: &BrokerManagement) -> Result<Self, CloudError> {
        Ok(Self {
            queues: management.list("queues").await?,
            bindings: management.list("bindings").await?,
        })
    }

    /// Queues of requests, by their names: `engine`, `engine_worker.ID` and the like.
    fn of_topics(&self) -> impl Iterator<Item = (&str, &Value)> {
        let named = self
            .queues
            .iter()
            .filter_map(|queue| Some((text(queue, "name")?, queue)));
        named.filter(|(name, _)| {
            let topic = name.split_once('.').map_or(*name, |(topic, _)| topic);
            TOPICS.contains(&topic)
        })
    }

    fn is_bound(&self, exchange: &str, queue: &str) -> bool {
        self.bindings.iter().any(|binding| {
            text(binding, "source") == Some(exchange)
                && text(binding, "destination") == Some(queue)
                && text(binding, "routing_key") == Some(queue)
        })
    }

    /// Queues besides that of the topic which get what is sent to it.
    fn listeners(&self, exchange: &str, topic: &str) -> BTreeSet<&str> {
        let bindings = self.bindings.iter().filter(|binding| {
            text(binding, "source") == Some(exchange)
                && text(binding, "routing_key") == Some(topic)
                && text(binding, "destination_type") == Some("queue")
        });
        let destinations = bindings.filter_map(|binding| text(binding, "destination"));
        destinations.filter(|destination| *destination != topic).collect()
    }
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

fn judge_listed(bus: &Bus, present: &[String], listed: &Listed, report: &mut Report) {
    let exchange = &bus.options().transport.control_exchange;
    let mut unbound: BTreeSet<&str> = present.iter().map(String::as_str).collect();
    unbound.extend(listed.of_topics().map(|(name, _)| name));
    unbound.retain(|name| !listed.is_bound(exchange, name));
    match unbound.is_empty() {
        true => report.fine(Area::Broker, format!("all queues are bound to exchange {exchange}")),
        false => report.problem(
            Area::Broker,
            format!("not bound to exchange {exchange}: {}", join(unbound)),
            "what is sent to such a queue reaches nobody: requests time out, checks are lost until the sweep finds them",
            "restart an engine that reads the queue, which binds it again; find out who took the binding away",
        ),
    }
    for topic in [contract::TOPIC, worker::WORKER_TOPIC] {
        let listeners = listed.listeners(exchange, topic);
        if !listeners.is_empty() {
            report.warning(
                Area::Broker,
                format!("what is sent to {topic} goes to these queues, too: {}", join(listeners)),
                "whoever reads them does the work twice; if nobody does, they fill the broker's memory",
                "if they are not meant to be: `rabbitmqctl delete_queue -p VHOST NAME`",
            );
        }
    }
    let shared: Vec<&str> = present.iter().map(String::as_str).collect();
    for (name, queue) in listed.of_topics() {
        let differences = differences(&bus.expected_queue(name), queue);
        // Of the shared ones the broker has said so itself. Those of a check by hand go by themselves.
        if !differences.is_empty() && !shared.contains(&name) && !goes_by_itself(queue) {
            report.warning(
                Area::Broker,
                format!(
                    "queue {name} is not as this engine would make it: {}",
                    differences.join(", ")
                ),
                "the engine whose it is runs with other options",
                SAME_OPTIONS,
            );
        }
    }
    judge_policies(listed, report);
}

fn judge_policies(listed: &Listed, report: &mut Report) {
    for (name, queue) in listed.of_topics() {
        let policy = text(queue, "policy").or_else(|| text(queue, "operator_policy"));
        let effective = queue.get("effective_policy_definition").and_then(Value::as_object);
        let lossy = effective.into_iter().flatten();
        let lossy: Vec<String> = lossy
            .filter(|(setting, _)| LOSSY_POLICIES.contains(&setting.as_str()))
            .map(|(setting, value)| format!("{setting} = {value}"))
            .collect();
        if !lossy.is_empty() {
            report.warning(
                Area::Broker,
                format!(
                    "policy {} on queue {name}: {}",
                    policy.unwrap_or("(no name)"),
                    lossy.join(", ")
                ),
                "messages, or the queue, may go before anybody has read them: stacks then stand still until the sweep \
                 sends what was lost again",
                "narrow the pattern of the policy to other queues (`rabbitmqctl list_policies -p VHOST`)",
            );
        }
    }
}

fn goes_by_itself(queue: &Value) -> bool {
    queue.pointer("/arguments/x-expires").is_some()
}

/// What is otherwise, in words.
fn differences(expected: &ExpectedQueue, queue: &Value) -> Vec<String> {
    let none = Map::new();
    let arguments = queue.get("arguments").and_then(Value::as_object).unwrap_or(&none);
    let mut differences = Vec::new();
    for (what, wanted) in [("durable", expected.durable), ("auto_delete", expected.auto_delete)] {
        let is = queue.get(what).and_then(Value::as_bool);
        if is.is_some_and(|is| is != wanted) {
            differences.push(format!("{what} is {}, not {wanted}", !wanted));
        }
    }
    let names: BTreeSet<&String> = expected.arguments.keys().chain(arguments.keys()).collect();
    for name in names {
        let (wanted, is) = (expected.arguments.get(name), arguments.get(name));
        // What a broker puts in by itself.
        let is_default = name == "x-queue-type" && wanted.is_none() && is.and_then(Value::as_str) == Some("classic");
        if wanted != is && !is_default {
            let shown = |value: Option<&Value>| value.map_or("not set".to_owned(), Value::to_string);
            differences.push(match wanted {
                Some(wanted) => format!("{name} is {}, not {wanted}", shown(is)),
                None => format!("{name} is {}, and should not be set", shown(is)),
            });
        }
    }
    differences
}

fn join<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_named() {
        let arguments = json!({"x-queue-type": "quorum", "x-delivery-limit": 3});
        let expected = ExpectedQueue {
            name: "engine".to_owned(),
            durable: true,
            auto_delete: false,
            arguments: arguments.as_object().cloned().unwrap_or_default(),
        };
        let same = json!({"durable": true, "auto_delete": false, "arguments": arguments});
        assert_eq!(differences(&expected, &same), Vec::<String>::new());
        let other =
            json!({"durable": false, "auto_delete": false, "arguments": {"x-queue-type": "classic", "x-expires": 5}});
        let told = [
            "durable is false, not true",
            "x-delivery-limit is not set, not 3",
            "x-expires is 5, and should not be set",
            "x-queue-type is \"classic\", not \"quorum\"",
        ];
        assert_eq!(differences(&expected, &other), told);
        let plain = ExpectedQueue {
            durable: false,
            arguments: Map::new(),
            ..expected
        };
        let by_default = json!({"durable": false, "auto_delete": false, "arguments": {"x-queue-type": "classic"}});
        assert_eq!(differences(&plain, &by_default), Vec::<String>::new());
    }
}
