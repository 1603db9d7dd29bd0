//! What is to be replayed, made ready: the message, for whom it acts, the rows that it is about, and who has them.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, bail};
use chrono::{DateTime, NaiveDateTime};
use serde_json::{Map, Value};

use super::account::{Account, Closing, Opening, Predecessor, Row, Verdict};
use super::derived::{Kept, add_derived};
use super::target::{NodeName, Target};
use crate::cli::by_hand::find_stack;
use crate::cli::screen::{age, duration};
use crate::cli::secrets::Secrets;
use crate::convergence::engine::Convergence;
use crate::convergence::request::{CheckRequest, Checked};
use crate::convergence::survey::{NodeState, Phase, Progress, Survey, Time};
use crate::convergence::witness::{Decision, Ended};
use crate::convergence::work::NoReceipt;
use crate::identity::RequestContext;
use crate::messaging::CapturedRequest;
use crate::resource::state::Status;
use crate::rpc::worker::{WORKER_VERSION, read_check};
use crate::stack::node::{Node, NodeData};
use crate::stack::services::Services;
use crate::stack::stored::{readable, state_of};
use crate::stack::{Stack, credentials, time_left};
use crate::store::{self, Deleted, LoadedResource, ResourceData, Scope, SyncPointKey, next_atomic_key};
use crate::template::StackDefinition;

pub struct Replay {
    request: CheckRequest,
    context: RequestContext,
    acts_as: String,
    source: String,
    remarks: Vec<String>,
    stack: store::Stack,
    /// `None`: the row is gone.
    loaded: Option<LoadedResource>,
    /// All of the stack.
    resources: Vec<LoadedResource>,
    definitions: Vec<Arc<StackDefinition>>,
    taken_at: NaiveDateTime,
    time: String,
    secrets: Secrets,
    dry_run: bool,
}

/// What a target comes to.
struct Found {
    request: CheckRequest,
    source: String,
    stack: store::Stack,
    /// The frame's.
    context: Option<RequestContext>,
    remarks: Vec<String>,
}

impl Replay {
    pub async fn prepare(engine: &Convergence, target: Target, dry_run: bool) -> anyhow::Result<Self> {
        let services = &engine.services;
        let mut found = match target {
            Target::Frame { from, request } => of_frame(services, &from, &request).await?,
            Target::Node(name) => of_node(engine, &name).await?,
        };
        let resources = services.store.resources_load_by_stack(&found.stack.id).await?;
        let resource_id = found.request.node.resource_id();
        let loaded = resources
            .iter()
            .find(|loaded| Some(loaded.resource.id) == resource_id)
            .cloned();
        let mut definitions = Vec::new();
        let templates = [
            Some(found.stack.raw_template_id),
            loaded.as_ref().and_then(|it| it.resource.current_template_id),
        ];
        for template_id in templates.into_iter().flatten() {
            // One that cannot be read is the check's to complain about.
            definitions.extend(services.templates.definition(&found.stack, template_id).await);
        }
        let (context, acts_as) = caller(services, &mut found, dry_run).await?;
        let mut secrets = Secrets::default();
        definitions
            .iter()
            .for_each(|definition| secrets.add_hidden_parameters(definition));
        resources
            .iter()
            .for_each(|loaded| add_sealed_data(services, &mut secrets, &loaded.data));
        secrets.add_context(&context);
        // Whoever acts: the end of a delete takes the stack's trust away by its id.
        if let Some(id) = found.stack.user_creds_id
            && let Ok(Some(stored)) = credentials::load(services, id).await
        {
            secrets.add_context(&stored.context(&context.request_id));
        }
        let kept = Kept::of(services, &found.request.input_data, &resources);
        let checked = loaded.as_ref().map_or("", |loaded| loaded.resource.name.as_str());
        add_derived(&mut secrets, &definitions, &kept, checked);
        let time = match Time::of(time_left(&found.stack, services)) {
            Time::Over(over) => format!("timed out {} ago", duration(over)),
            Time::Left(left) => format!("times out in {}", duration(left)),
        };
        Ok(Self {
            request: found.request,
            context,
            acts_as,
            source: found.source,
            remarks: found.remarks,
            stack: found.stack,
            loaded,
            resources,
            definitions,
            taken_at: services.clock.utc_now(),
            time,
            secrets,
            dry_run,
        })
    }

    /// The engine whose lock is in the way, if it may be taken.
    pub async fn look_at_lock(&mut self, engine: &Convergence, steal: bool) -> anyhow::Result<Option<String>> {
        let is_current = self.stack.current_traversal.as_deref() == Some(self.request.traversal.as_str())
            && self.stack.status.as_deref() == Some(Status::InProgress.as_str());
        let row = self.loaded.as_ref().map(|loaded| &loaded.resource);
        let Some((row, holder)) = row
            .and_then(|row| Some((row, row.engine_id.clone()?)))
            .filter(|_| is_current)
        else {
            return Ok(None);
        };
        let services = engine.services.store.services_ever().await?;
        let service = services.iter().find(|service| service.engine_id == holder);
        let host = service.map_or(String::new(), |service| format!(" on {}", service.host));
        let reported = service
            .filter(|service| service.is_up(self.taken_at))
            .and_then(|service| service.updated_at)
            .map(|at| format!("it reported {} ago", age(at, self.taken_at)));
        let answers = !self.dry_run && engine.is_alive(&self.context, &holder).await?;
        let sign_of_life = match (answers, reported) {
            (true, _) => Some("is alive (it answers)".to_owned()),
            (false, Some(reported)) if self.dry_run => {
                Some(format!("seems to be alive ({reported}; a rehearsal asks nobody)"))
            }
            (false, Some(reported)) => Some(format!("seems to be alive (it does not answer, but {reported})")),
            (false, None) => None,
        };
        let name = &row.name;
        self.remarks.push(match sign_of_life {
            Some(sign) if !steal => bail!(
                "{name} is held by engine {holder}{host}, which {sign}; --steal-lock takes the lock all the same, and then \
                 two may work on one resource"
            ),
            Some(sign) => {
                format!("the lock is taken from engine {holder}{host}, as you say, although it {sign}")
            }
            None if self.dry_run && service.is_none() => format!(
                "{name} is held by engine {holder}, which is in no table: this is what is done if it is gone. If it is a check \
                 by hand that runs, its lock is left to it"
            ),
            None => format!("the lock is taken from engine {holder}{host}, which is gone"),
        });
        Ok(Some(holder))
    }

    pub fn opening(&self, dry_run: bool) -> Opening {
        let row = self.loaded.as_ref().map(|loaded| &loaded.resource);
        let names: HashMap<i64, String> = self
            .resources
            .iter()
            .map(|loaded| (loaded.resource.id, loaded.resource.name.clone()))
            .collect();
        let name = row.map_or_else(|| self.request.node.to_string(), |row| row.name.clone());
        let resource_type = self.definitions.iter().rev().find_map(|it| it.resource(&name));
        Opening {
            resource_type: resource_type.map(|resource| resource.resource_type.clone()),
            node: self.request.node.clone(),
            stack: self.stack.clone(),
            time: self.time.clone(),
            traversal: self.request.traversal.clone(),
            dry_run,
            source: self.source.clone(),
            message: self.request.to_arguments(),
            acts_as: self.acts_as.clone(),
            row: self.loaded.as_ref().map(Row::of),
            predecessors: predecessors(&self.request.input_data, &names),
            remarks: self.remarks.clone(),
            secrets: self.secrets.clone(),
            name,
            names,
        }
    }

    pub async fn run(
        &mut self,
        engine: &Convergence,
        holder: Option<String>,
        account: &Account,
    ) -> anyhow::Result<Verdict> {
        let checked = match (holder, self.loaded.take()) {
            (Some(holder), Some(loaded)) => {
                if engine.free_lock(loaded.resource.id, &holder).await?.is_none() {
                    bail!("somebody else was faster to take the lock of engine {holder}");
                }
                // In a rehearsal the row is as it was, and the check has to see what it would be.
                match self.dry_run {
                    true => {
                        let freed = freed(loaded);
                        engine
                            .check_loaded(&self.context, &self.request, freed, &NoReceipt)
                            .await
                    }
                    false => engine.check_resource(&self.context, &self.request, &NoReceipt).await,
                }
            }
            _ => engine.check_resource(&self.context, &self.request, &NoReceipt).await,
        };
        let checked = checked.context("the check broke off")?;
        Ok(verdict(checked, account))
    }

    pub async fn result(&self, engine: &Convergence, verdict: &Verdict) -> anyhow::Result<Closing> {
        let store = &engine.services.store;
        let resource = match self.request.node.resource_id() {
            Some(id) => store.resource_load(id).await?,
            None => None,
        };
        let stack = store
            .stack_get(&self.stack.id, &Scope::Everyone, Deleted::Shown)
            .await?;
        Ok(Closing {
            verdict: *verdict,
            row: resource.as_ref().map(Row::of),
            stack_state: match stack {
                Some(stack) if stack.deleted_at.is_some() => "deleted".to_owned(),
                Some(stack) => state_of_stack(&stack),
                None => "gone".to_owned(),
            },
        })
    }
}

impl Row {
    fn of(loaded: &LoadedResource) -> Self {
        let row = &loaded.resource;
        let (action, status) = state_of(row);
        Self {
            id: row.id,
            state: format!("{action}_{status}"),
            reason: row.status_reason.clone().filter(|reason| !reason.is_empty()),
            physical_id: row.physical_resource_id.clone(),
            holder: row.engine_id.clone(),
            atomic_key: row.atomic_key,
            template_id: row.current_template_id,
            replaces: row.replaces,
            replaced_by: row.replaced_by,
        }
    }
}

fn verdict(checked: Checked, account: &Account) -> Verdict {
    if let Checked::NotServed(_) = checked {
        return Verdict::NotRun;
    }
    let book = account.book();
    match book.ended() {
        Some((Ended::Failed, _)) => Verdict::Failed,
        Some((Ended::Contended | Ended::Cancelled | Ended::HandedBack | Ended::PassedOn, _)) => Verdict::NotRun,
        Some((Ended::Replaced, _)) => Verdict::Done,
        None if book.decisions().any(|(what, _)| what == Decision::FailStack) => Verdict::Failed,
        None => Verdict::Done,
    }
}

/// The row as it is when the lock of a dead engine has been taken from it.
fn freed(mut loaded: LoadedResource) -> LoadedResource {
    let row = &mut loaded.resource;
    row.engine_id = None;
    row.status = Some(Status::Failed.to_string());
    row.atomic_key = Some(next_atomic_key(row.atomic_key));
    loaded
}

fn state_of_stack(stack: &store::Stack) -> String {
    let word = |word: &Option<String>| word.clone().unwrap_or_default();
    format!("{}_{}", word(&stack.action), word(&stack.status))
}

async fn of_frame(services: &Services, from: &str, captured: &CapturedRequest) -> anyhow::Result<Found> {
    let no_replay = || format!("{from} is no frame that can be replayed");
    let request = read_check(&captured.method, captured.arguments.clone()).with_context(no_replay)?;
    captured.check_version(WORKER_VERSION).with_context(|| {
        let (version, method) = (&captured.version, &captured.method);
        let of = captured.namespace.as_ref();
        let of = of.map_or(String::new(), |namespace| format!(" in namespace {namespace}"));
        format!("{from} asks for version {version} of {method}{of}")
    })?;
    let new_request_id = || format!("req-{}", services.clock.new_uuid());
    let context = RequestContext::from_wire(&captured.context, new_request_id).with_context(no_replay)?;
    let Some(resource_id) = request.node.resource_id() else {
        bail!("{from} is about a snapshot, which only a Python engine works on");
    };
    let stack_id = match services.store.resource_get(resource_id).await? {
        Some(row) => row.stack_id,
        None => stack_of_sync_point(services, &request)
            .await?
            .with_context(|| format!("resource {resource_id}, which the frame is about, is gone"))?,
    };
    let stack = services
        .store
        .stack_get(&stack_id, &Scope::Everyone, Deleted::Shown)
        .await?;
    Ok(Found {
        request,
        source: from.to_owned(),
        stack: stack.with_context(|| format!("stack {stack_id}, which the frame is about, is gone"))?,
        context: Some(context),
        remarks: Vec::new(),
    })
}

async fn stack_of_sync_point(services: &Services, request: &CheckRequest) -> anyhow::Result<Option<String>> {
    let key = SyncPointKey {
        entity_id: request.node.entity_id(),
        traversal_id: request.traversal.clone(),
        is_update: request.node.is_update,
    };
    let point = services.store.sync_point_get(&key).await?;
    Ok(point.map(|point| point.stack_id))
}

async fn of_node(engine: &Convergence, name: &NodeName) -> anyhow::Result<Found> {
    let stack = find_stack(&engine.services.store, &name.stack).await?;
    let survey = engine.survey(stack.clone()).await?;
    if let Some(step) = odd_step(&survey, name) {
        bail!(
            "stack {} has no resource {}, and :{step} is no kind of node (:update, :cleanup)",
            stack.name,
            name.resource
        );
    }
    match survey.phase {
        Phase::UnderWay => {}
        Phase::Ended => bail!(
            "nothing is in progress: stack {} is {}, so there is no message for {}",
            stack.name,
            state_of_stack(&stack),
            name.resource
        ),
        Phase::NotLaidOut => bail!(
            "stack {} is {}, but its graph and its sync points are not written: there are no messages yet",
            stack.name,
            state_of_stack(&stack)
        ),
    }
    let state = choose(&survey, name)?;
    if !state.missing.is_empty() {
        bail!(
            "{} is not due: it waits for {}",
            label(state),
            waited_for(&survey, state)
        );
    }
    let request = engine.check_request(&stack, &state.node).await?;
    let mut remarks = Vec::new();
    match state.progress {
        Progress::Done => remarks.push("it is done already: this is what a second delivery does".to_owned()),
        Progress::Telling => remarks.push("it is done, but not everybody was told".to_owned()),
        _ => {}
    }
    Ok(Found {
        request: request.with_context(|| format!("{} has no sync point any more", label(state)))?,
        source: "the tables".to_owned(),
        stack,
        context: None,
        remarks,
    })
}

/// What stands where `update` or `cleanup` might. A resource's name can hold a colon, so only one that there is not is taken
/// apart.
fn odd_step<'n>(survey: &Survey, name: &'n NodeName) -> Option<&'n str> {
    let (_, step) = name.resource.rsplit_once(':')?;
    let mut names = survey.nodes.values().map(|state| &state.name);
    let mut others = survey.other_rows.iter().map(|row| &row.name);
    let is_name = names.any(|known| *known == name.resource) || others.any(|known| *known == name.resource);
    (!is_name).then_some(step)
}

/// Of the nodes of that name the one that is meant: as said, or the first that is not done.
fn choose<'s>(survey: &'s Survey, name: &NodeName) -> anyhow::Result<&'s NodeState> {
    let is_named = |state: &&NodeState| {
        let row = state.row.as_ref();
        state.name == name.resource || row.is_some_and(|row| row.id.to_string() == name.resource)
    };
    let mut candidates: Vec<&NodeState> = survey.nodes.values().filter(is_named).collect();
    if candidates.is_empty() {
        bail!(
            "stack {} has no resource {} in its traversal",
            survey.stack.name,
            name.resource
        );
    }
    if let Some(is_update) = name.is_update {
        candidates.retain(|state| state.node.is_update == is_update);
    }
    let step = if name.is_update == Some(false) {
        "clean up"
    } else {
        "update"
    };
    candidates.sort_by_key(|state| (state.progress == Progress::Done, !state.node.is_update));
    match candidates.as_slice() {
        [] => bail!("the traversal has nothing to {step} for {}", name.resource),
        [first, second, ..] if first.node.is_update == second.node.is_update && first.progress != Progress::Done => {
            bail!(
                "{} stands for several rows, each of which can be named by its number: {}",
                name.resource,
                targets(&name.stack, &candidates)
            )
        }
        [first, ..] => Ok(first),
    }
}

/// What is to be typed for each, with what it is at.
fn targets(stack: &str, states: &[&NodeState]) -> String {
    let targets: Vec<String> = states
        .iter()
        .filter_map(|state| {
            let row = state.row.as_ref()?.id;
            let (step, progress) = (step(state), state.progress.as_str());
            Some(format!("{stack}/{row}:{step} ({progress})"))
        })
        .collect();
    targets.join(", ")
}

fn label(state: &NodeState) -> String {
    format!("{}:{}", state.name, step(state))
}

fn step(state: &NodeState) -> &'static str {
    if state.node.is_update { "update" } else { "cleanup" }
}

fn waited_for(survey: &Survey, state: &NodeState) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<String> = state
        .missing
        .iter()
        .take(SHOWN)
        .filter_map(|node| survey.nodes.get(node))
        .map(|missing| format!("{} ({})", label(missing), missing.progress.as_str()))
        .collect();
    if state.missing.len() > SHOWN {
        names.push(format!("and {} more", state.missing.len() - SHOWN));
    }
    names.join(", ")
}

/// For whom the check acts. A frame says it; a token that has ended, or a frame's absence, makes it the stack's owner.
async fn caller(services: &Services, found: &mut Found, dry_run: bool) -> anyhow::Result<(RequestContext, String)> {
    let of_frame = found.context.take();
    let request_id = match &of_frame {
        Some(context) => context.request_id.clone(),
        None => format!("req-{}", services.clock.new_uuid()),
    };
    if let Some(context) = of_frame {
        match ended_token(&context, services.clock.utc_now()) {
            None => {
                let acts_as = match whose(&context) {
                    nobody if nobody.is_empty() => {
                        "nobody: the frame's context names neither project nor user".to_owned()
                    }
                    whose => format!("{whose}, by what the frame holds"),
                };
                return Ok((context, acts_as));
            }
            Some(ended) => found.remarks.push(format!(
                "the frame's token ended {} ago: the stack's own credentials are taken",
                age(ended, services.clock.utc_now())
            )),
        }
    }
    let stack = Stack::from_row(services, found.stack.clone()).await?;
    let context = match dry_run {
        // Nothing goes on the wire, so Keystone need not be asked who that is.
        true => credentials::owner_context(services, &request_id, &stack).await,
        false => credentials::stored_context(services, &request_id, &stack).await,
    };
    let context =
        context.with_context(|| format!("the stored credentials of stack {} do not let us in", stack.name()))?;
    let by = if context.trust_id.is_some() {
        "trust"
    } else {
        "password"
    };
    let whose = whose(&context);
    Ok((context, format!("{whose}, by the stack's {by}")))
}

fn whose(context: &RequestContext) -> String {
    let part = |label: &str, value: &Option<String>| value.as_ref().map(|value| format!("{label} {value}"));
    let user = part("user", &context.user_id).or_else(|| part("user", &context.trustor_user_id));
    let parts: Vec<String> = part("project", &context.project_id).into_iter().chain(user).collect();
    parts.join(", ")
}

/// When the caller's token came to its end, if it has, and there is nothing else to log in with.
fn ended_token(context: &RequestContext, now: NaiveDateTime) -> Option<NaiveDateTime> {
    if context.trust_id.is_some() || context.password.is_some() {
        return None;
    }
    let token = context.auth_token_info.as_ref()?.get("token")?;
    let expires = DateTime::parse_from_rfc3339(token.get("expires_at")?.as_str()?).ok()?;
    Some(expires.naive_utc()).filter(|expires| *expires <= now)
}

fn predecessors(input_data: &Value, names: &HashMap<i64, String>) -> Vec<Predecessor> {
    let arrived = input_data.get("input_data").and_then(Value::as_object);
    let arrived: Option<&Map<String, Value>> = arrived;
    arrived
        .into_iter()
        .flatten()
        .map(|(sender, data)| {
            let node = Node::from_key(sender);
            let id = node.as_ref().and_then(Node::resource_id);
            let name = NodeData::from_value(data).map(|data| data.name);
            let name = name.or_else(|| id.and_then(|id| names.get(&id).cloned()));
            Predecessor {
                name: name.unwrap_or_else(|| node.map_or_else(|| sender.clone(), |node| node.to_string())),
                sender: sender.clone(),
                data: data.clone(),
            }
        })
        .collect()
}

fn add_sealed_data(services: &Services, secrets: &mut Secrets, data: &[ResourceData]) {
    let sealed: Vec<ResourceData> = data.iter().filter(|item| item.redact).cloned().collect();
    // What cannot be opened cannot be shown either.
    for value in readable(services, &sealed).unwrap_or_default().values() {
        secrets.add(value);
    }
}
