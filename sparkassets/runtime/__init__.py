"""The tick, claims and leases, recovery and execution of runs: core and ports only."""
