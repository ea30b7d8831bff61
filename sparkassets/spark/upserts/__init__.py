"""How rows are merged into a table by their keys, so that neither order nor repetition of what comes matters.

One run does, in this order:

1. **Stage.** The run's rows are computed once, into files of the attempt's own (`staged`): one row a key, the newest by
   `newest_by` (`reduced`), without those that are late against what is remembered. Rows without a key, and several of a
   key of which none is the newest, fail that job: nothing was published then.
2. **Remember.** What later runs must know, and the table does not tell, goes into a small Delta table beside it, in a
   folder that `VACUUM` leaves alone (`memory`): keys that were deleted, and at which `newest_by`; where `newest_by` is
   not stored, of every key the newest that came. The merge's commit names the version of that table that counts with
   it: what a run remembered that never got to its merge counts for nobody, and a table that is restored to what it was
   remembers what it did then.
3. **Merge.** One `MERGE` by the keys (`merging`), in a session of its own as Delta takes its transaction from there
   alone. A row that is older than the table's is left out by the merge itself where `newest_by` is stored.

With a partition a key is one within its partition: the columns that hold it count as keys. So only files of the run's
partitions are searched; those that cannot hold any of its keys, by the lowest and the highest of them, are not either.

A history (`history`) is a function of all that ever came: each row of the table is a change of its key, and deletions
are remembered, so the rows of a key that is touched are made anew from what is there, what is remembered and what
comes.
"""
