"""Stores of the journal under one contract (`ports.JournalStore`): Delta tables, or memory.

deltalake's threads do not survive a fork: processes that use a store are spawned, never forked.
"""
