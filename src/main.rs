//! heat-engine-rs: the command line, and the allocator of the process.

use tikv_jemallocator::Jemalloc;

/// The system's costs a fifth of the CPU time of an engine at work, and keeps for ever what one rush needed.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Few arenas, whatever the number of processors: an engine waits more than it computes. A thread of the allocator's gives
/// back what has not been of use for a second.
// SAFETY: jemalloc looks for settings under this name, as a pointer to text that ends with a zero byte.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static ALLOCATOR_SETTINGS: &[u8; 70] = b"narenas:2,background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0\0";

fn main() -> std::process::ExitCode {
    heat_engine::cli::main()
}
