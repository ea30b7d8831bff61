"""What is due: missing and stale partitions, ticks, events and conditions, and what of them is withheld or outdated."""
