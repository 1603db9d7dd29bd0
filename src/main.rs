//! heat-engine-rs: the command line.

fn main() -> std::process::ExitCode {
    heat_engine::cli::main()
}
