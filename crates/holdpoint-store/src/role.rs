//! What a store does, by role. A store implements all of them; somebody who needs one part asks for that part.

mod approvals;
mod audit_log;
mod grants;
mod run_leases;
mod run_log;
mod server_state;
mod task_queue;

pub use approvals::Approvals;
pub use audit_log::AuditLog;
pub use grants::Grants;
pub use run_leases::RunLeases;
pub use run_log::RunLog;
pub use server_state::ServerState;
pub use task_queue::TaskQueue;
