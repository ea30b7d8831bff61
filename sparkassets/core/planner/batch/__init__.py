"""Runs made of what is due and passes its gates: batches, backfills, rebuilds and rollbacks, with costs and budgets."""
