"""(project, state, now) → plan: what is due, with which blocks, and why."""
