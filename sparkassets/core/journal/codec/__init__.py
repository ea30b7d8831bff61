"""How entries and the state are written down, and read again; what they mean is in the rooms beside this one."""

from sparkassets.core.journal.codec.entries import from_row, to_row
from sparkassets.core.journal.codec.snapshot import decode, encode

__all__ = ["decode", "encode", "from_row", "to_row"]
