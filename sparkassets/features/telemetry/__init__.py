"""How programs follow runs: metrics, traces, and logs by run."""
