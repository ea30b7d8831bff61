"""How the journal's entries are written down, and read again; what they mean is in the rooms beside this one."""

from sparkassets.core.journal.codec.entries import from_row, to_row

__all__ = ["from_row", "to_row"]
