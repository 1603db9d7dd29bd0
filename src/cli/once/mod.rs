//! `--once`: one check by hand, with all that it finds, decides and does.
//!
//! The check is the engine's own ([`Convergence::check_loaded`]), under an engine id of its own and with somebody who looks
//! on; nothing of it is imitated here. What is special to the hand is around it: where the message comes from, that nobody
//! who is alive loses a lock to it unawares, that this process answers for itself while it holds one, and what is shown.
//!
//! A rehearsal (`--dry-run`) runs the same code. Its store, its bus and its services take no writes and tell them
//! ([`crate::journal`]); it has no connection to the broker at all.

mod account;
mod derived;
mod json;
mod log;
mod sql;
mod subject;
mod target;
mod text;

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio_util::sync::CancellationToken;

use self::account::{Account, Verdict};
use self::log::Log;
use self::subject::Replay;
use self::target::Target;
use self::text::Printer;
use super::screen::Paint;
use super::{UNUSABLE, by_hand, complain};
use crate::convergence::engine::Convergence;
use crate::convergence::witness::Watch;
use crate::journal::{Journal, Mode};
use crate::messaging::Bus;
use crate::rpc::servers::Presence;
use crate::settings::{Settings, SettingsSources};

/// How a check is run by hand.
#[derive(Args, Debug)]
pub struct OnceArguments {
    /// Check one resource, show all that is done, and end
    ///
    /// TARGET is a captured frame of check_resource (a file, or - for stdin), or STACK/RESOURCE, for which the message is
    /// made from the tables; :update or :cleanup after it says which of its two nodes
    #[arg(long, value_name = "TARGET", help_heading = "One check by hand")]
    pub once: Option<String>,

    /// Change nothing and send nothing; say what would be done
    #[arg(long, requires = "once", help_heading = "One check by hand")]
    pub dry_run: bool,

    /// Take the resource's lock even from an engine that is alive
    #[arg(long, requires = "once", help_heading = "One check by hand")]
    pub steal_lock: bool,

    /// How to show it
    #[arg(
        long,
        value_name = "FORMAT",
        requires = "once",
        default_value = "text",
        help_heading = "One check by hand"
    )]
    pub format: OnceFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnceFormat {
    /// As it happens
    #[default]
    Text,
    /// One object at the end
    Json,
}

/// The resource failed.
const RESOURCE_FAILED: u8 = 1;
/// The check could not be run, or was broken off.
const NOT_RUN: u8 = UNUSABLE;

/// For the broker to confirm what is under way at the end.
const FAREWELL: Duration = Duration::from_secs(10);

pub fn main(sources: &SettingsSources, verbose: bool, target: &str, arguments: &OnceArguments) -> u8 {
    let printer = (arguments.format == OnceFormat::Text).then(|| Printer::new(Paint::for_stdout()));
    let account = Account::new(printer);
    let log = Log::new(&account);
    let writer = log.clone();
    by_hand::run(
        sources,
        verbose,
        move || writer.clone(),
        |settings| async move {
            let outcome = once(settings, target, arguments, account).await;
            log.show_waiting();
            outcome.unwrap_or_else(|error| {
                complain(error);
                NOT_RUN
            })
        },
    )
}

async fn once(settings: Settings, target: &str, arguments: &OnceArguments, account: Account) -> anyhow::Result<u8> {
    let target = Target::read(target, settings.own.max_message_bytes)?;
    let mode = match arguments.dry_run {
        true => Mode::Rehearse,
        false => Mode::Act,
    };
    let bus = match mode {
        Mode::Rehearse => None,
        Mode::Act => Some(by_hand::reach_broker(&settings).await?),
    };
    if let Some(bus) = &bus {
        tokio::spawn(tell_of_alarms(bus.clone()));
    }
    let entries = account.clone();
    let journal = Journal::read_by(mode, move |entry| entries.enter(entry));
    let connected = by_hand::connect(Arc::new(settings), bus.as_ref(), journal).await;
    let services = match connected {
        Ok(services) => services,
        Err(error) => {
            if let Some(bus) = bus {
                let _ = tokio::time::timeout(FAREWELL, bus.close()).await;
            }
            return Err(error);
        }
    };
    let ending = CancellationToken::new();
    let steps = account.clone();
    let watch = Watch::new(arguments.dry_run, move |step| steps.step(step));
    let engine = Convergence::new(services, CancellationToken::new(), ending.clone()).watched(watch);
    tokio::spawn(heed_interrupts(ending));

    let outcome = replay(&engine, bus.as_ref(), target, &account, arguments).await;
    leave(&engine, bus).await;
    let code = match outcome? {
        Verdict::Done => super::DONE,
        Verdict::Failed => RESOURCE_FAILED,
        Verdict::NotRun => NOT_RUN,
    };
    if arguments.format == OnceFormat::Json {
        by_hand::print(&json::render(&account, code));
    }
    Ok(code)
}

async fn replay(
    engine: &Convergence,
    bus: Option<&Bus>,
    target: Target,
    account: &Account,
    arguments: &OnceArguments,
) -> anyhow::Result<Verdict> {
    let mut replay = Replay::prepare(engine, target, arguments.dry_run).await?;
    let holder = replay.look_at_lock(engine, arguments.steal_lock).await?;
    account.open(replay.opening(arguments.dry_run));
    let presence = bus.map(|bus| Presence::start(bus, engine));
    if let Some(presence) = &presence {
        presence.ready().await;
    }
    account.begin();
    let verdict = replay.run(engine, holder, account).await;
    // What follows from it in the background, as a rollback does, belongs to it.
    engine.services.background.close();
    engine.services.background.wait().await;
    account.end();
    if let Some(presence) = presence {
        presence.close().await;
    }
    let verdict = verdict?;
    account.close(replay.result(engine, &verdict).await?);
    Ok(verdict)
}

/// The check waits for the broker, which may take long; whoever waits for the check is told.
async fn tell_of_alarms(bus: Bus) {
    let mut health = bus.health_watch();
    let mut was_blocked = false;
    while let Some(now) = health.changed().await {
        if let Some(reason) = now.blocked.as_ref().filter(|_| !was_blocked) {
            complain(anyhow::anyhow!(
                "the broker takes no messages ({reason}): waiting until it does"
            ));
        }
        was_blocked = now.blocked.is_some();
    }
}

/// Ctrl-C: the check is recorded as broken off and goes back to the queue. The second one ends at once.
async fn heed_interrupts(ending: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    for _ in 0..2 {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if ending.is_cancelled() {
            std::process::exit(i32::from(NOT_RUN));
        }
        ending.cancel();
    }
}

async fn leave(engine: &Convergence, bus: Option<Bus>) {
    if let Some(bus) = bus {
        let farewell = async {
            engine.services.notifier.flushed().await;
            bus.close().await;
        };
        // Everything of ours is out or given up by then.
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
    }
    engine.services.store.close().await;
}
