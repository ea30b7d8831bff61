"""Encodes entries and the state as rows, and decodes them; their meaning is in `entries`, `state` and `fold`."""

from sparkassets.core.journal.codec.entries import from_row, to_row
from sparkassets.core.journal.codec.snapshot import decode, encode

__all__ = ["decode", "encode", "from_row", "to_row"]
