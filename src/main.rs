//! heat-engine-rs: the command line.

/// An engine makes and drops small values by the million, on all its threads at once. With the system's allocator that
/// is a third of its CPU time, and memory that was needed once stays with the process.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    heat_engine::cli::main()
}
