"""The driver's loop, claims and leases, recovery and execution of runs; imports core and ports only."""
