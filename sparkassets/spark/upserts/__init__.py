"""Merges rows into a table by their keys; order and repetition of incoming rows do not matter.

One run does, in this order:

1. **Stage.** The run's rows are computed once, into the attempt's own files (`staged_rows`): one row for each key, the
   newest by `newest_by`, without rows older than those remembered. Rows without a key, and several of a key of which
   none is the newest, fail that job before anything is published.
2. **Remember.** What later runs must know, and the table does not hold, goes into a small Delta table beside it, in a
   folder that `VACUUM` leaves alone (`upsert_memory`): deleted keys with their `newest_by`; where `newest_by` is not
   stored, the newest value of every key. The merge's commit names the version of that table that is valid with it. So
   rows remembered by a run that never reached its merge are ignored, and a restored table has the memory of its time.
3. **Merge.** One `MERGE` by the keys (`key_merge`), in a session of its own, because Delta takes its transaction from
   the session. Where `newest_by` is stored, the merge itself leaves out rows older than the table's.

In a partitioned table a key is unique within its partition: partition columns count as keys. So only files of the run's
partitions are searched, and only those that can hold its keys, by the lowest and the highest of them.

A history is a function of all changes ever received: each row of the table is a change of its key, and deletions are
remembered. So all rows of a touched key are computed again from stored, remembered and incoming changes.
"""
