"""Everything with a thread: device readers, supervisor, waiters, group commit."""
