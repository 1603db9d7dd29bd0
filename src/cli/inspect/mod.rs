//! `inspect`: where a stack stands, and why.
//!
//! It reads the tables and nothing else, in a session that the database lets write nothing: it must work when the broker
//! is away, and it may be run beside anything.

mod groups;
mod json;
mod labels;
mod sketch;
mod text;

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tokio_util::sync::CancellationToken;

use super::screen::Paint;
use super::{DONE, FAILED, by_hand, complain};
use crate::convergence::engine::Convergence;
use crate::convergence::survey::{Phase, Survey};
use crate::journal::{Journal, Mode};
use crate::resource::state::{Action, Status};
use crate::settings::{Settings, SettingsSources};

const AFTER_HELP: &str = "\
It reads the tables alone, and the database lets it write nothing.

Exit codes:
  0  shown
  1  it could not be: there is no such stack, or no database
  2  the configuration cannot be used";

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct InspectArguments {
    /// Its name or id
    pub stack: String,

    /// How to show it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: InspectFormat,

    /// Show every node, and put none together
    #[arg(long)]
    pub all: bool,

    /// Show it again every SECONDS (2), until the stack has come to an end
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub watch: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InspectFormat {
    Text,
    /// One object; with --watch, one a line
    Json,
    /// For Graphviz: `… --format dot | dot -Tsvg > stack.svg`
    Dot,
    /// For Markdown that draws Mermaid
    Mermaid,
}

const CLEAR_SCREEN: &str = "\x1b[H\x1b[2J\x1b[3J";

pub fn main(sources: &SettingsSources, verbose: bool, arguments: &InspectArguments) -> u8 {
    by_hand::run(sources, verbose, std::io::stderr, |settings| async move {
        match inspect(settings, arguments).await {
            Ok(()) => DONE,
            Err(error) => {
                complain(error);
                FAILED
            }
        }
    })
}

/// Whoever looks on sees soon that there is nothing to be seen.
const RETRIES_OF_A_QUESTION: i64 = 3;

async fn inspect(mut settings: Settings, arguments: &InspectArguments) -> anyhow::Result<()> {
    let read_only = Journal::read_by(Mode::Rehearse, |_| {});
    settings.database.db_max_retries = RETRIES_OF_A_QUESTION;
    let services = by_hand::connect(Arc::new(settings), None, read_only).await?;
    let engine = Convergence::new(services, CancellationToken::new(), CancellationToken::new());
    let result = show(&engine, arguments).await;
    engine.services.store.close().await;
    result
}

async fn show(engine: &Convergence, arguments: &InspectArguments) -> anyhow::Result<()> {
    let stack_id = by_hand::find_stack(&engine.services.store, &arguments.stack).await?.id;
    loop {
        let row = by_hand::find_stack(&engine.services.store, &stack_id).await?;
        let survey = engine.survey(row).await?;
        let has_ended = has_ended(&survey);
        let mut text = render(&survey, arguments);
        if arguments.watch.is_some() && arguments.format == InspectFormat::Text && std::io::stdout().is_terminal() {
            text.insert_str(0, CLEAR_SCREEN);
        }
        let is_read = by_hand::print(&text);
        match arguments.watch {
            Some(seconds) if is_read && !has_ended => tokio::time::sleep(Duration::from_secs(seconds)).await,
            _ => return Ok(()),
        }
    }
}

/// A deleted stack is there until its trust and its users are gone, too.
fn has_ended(survey: &Survey) -> bool {
    let stack = &survey.stack;
    let is_going = stack.action.as_deref() == Some(Action::Delete.as_str())
        && stack.status.as_deref() == Some(Status::Complete.as_str())
        && stack.deleted_at.is_none();
    survey.phase == Phase::Ended && !is_going
}

fn render(survey: &Survey, arguments: &InspectArguments) -> String {
    match arguments.format {
        InspectFormat::Text => text::render(survey, Paint::for_stdout(), arguments.all),
        InspectFormat::Json => json::render(survey, arguments.watch.is_none()),
        InspectFormat::Dot => sketch::Sketch::of(survey, arguments.all).dot(),
        InspectFormat::Mermaid => {
            let (picture, is_drawn) = sketch::Sketch::of(survey, arguments.all).mermaid();
            if !is_drawn {
                complain(anyhow::anyhow!(
                    "as Mermaid is set up by itself it draws no more than {} edges and {} characters: raise its maxEdges and \
                     maxTextSize, or leave --all away, or take --format dot",
                    sketch::MOST_EDGES,
                    sketch::MOST_CHARACTERS
                ));
            }
            picture
        }
    }
}
