//! Plain numbers of a queue and of one lane.

/// What a queue holds and has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueCounters {
    /// Lanes engaged now.
    pub lanes: usize,
    /// Keys that wait for their turn now, paused lanes included.
    pub ready: usize,
    /// Those of them of high priority.
    pub ready_high: usize,
    /// Those of them of normal priority.
    pub ready_normal: usize,
    /// Those of them of low priority.
    pub ready_low: usize,
    /// Keys that wait for a time now: delayed, requeued or backing off.
    pub delayed: usize,
    /// Items handed out now.
    pub running: usize,
    /// Bytes of the records, their table, the lanes and the wheel; without what the objects point to.
    pub heap_bytes: usize,
    /// Adds that made a new key.
    pub added: u64,
    /// Adds merged into a key that was there.
    pub merged: u64,
    /// Adds that named an ended lane or came after closing.
    pub ignored: u64,
    /// Items handed out.
    pub dispatched: u64,
    /// Items that ended well, requeues included.
    pub succeeded: u64,
    /// Items that failed and were put back with a delay.
    pub retries: u64,
    /// Items whose reconciler gave up, or that had used up their retries.
    pub given_up: u64,
    /// Items that could not start and were put back.
    pub deferred: u64,
    /// Keys removed with their lane.
    pub purged: u64,
}

/// What one lane, as a target, holds and has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneCounters {
    /// Keys that wait for their turn now.
    pub ready: usize,
    /// Keys that wait for a time now.
    pub delayed: usize,
    /// Items running now.
    pub running: usize,
    /// Items handed out.
    pub dispatched: u64,
    /// Whether it is paused: its keys are kept and none is handed out.
    pub paused: bool,
}

/// What a purge found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Keys removed before they ran.
    pub removed: usize,
    /// Items that still run; they are released when done, whatever their outcome.
    pub running: usize,
}
