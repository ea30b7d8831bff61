"""Where the journal lives: Delta tables through deltalake, or memory, under one contract (`ports.JournalStore`).

deltalake's threads do not survive a fork: processes that use a store are spawned, never forked.
"""

from sparkassets.state.delta import DeltaStore

__all__ = ["DeltaStore"]
