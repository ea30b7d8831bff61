"""Derives the columns of a query from the columns of its inlets; uncertain derivations are left open."""
