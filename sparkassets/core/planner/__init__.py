"""(project, state, now) → plan: what is due, with which partitions, and why."""
