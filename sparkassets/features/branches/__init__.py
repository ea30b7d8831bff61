"""Branches: changed code beside the base, without copying data (docs/branches.md).

A branch is a project with a journal and a warehouse of its own, `<state>/branches/NAME` and
`<warehouse>/_branches/NAME`, run by the same driver under the same protocol. It notifies nobody.

- *Own* assets are those whose code, partitions or inlets differ from the base's, those that the base lacks, and all
  that read an own asset. They are computed into the branch, from nothing. An own asset stays own: after a promotion
  the base's code is the branch's, and the branch still has to know which tables are its own.
- *Reused* assets are sources in the branch. The branch observes the base's journal rather than their tables
  (`mirror_updates`): coverage, events since, and the recorded version, at which the branch reads. So a base that moves
  on is news in the branch like any other: its consumers become stale and are computed again. If the events since have
  expired in the base (`retention`), all present partitions of a dataset that was updated count as new
  (`has_missed_entries`); a branch that reads in time misses nothing.
- *Promotion* is a run of the base (`promotion`), claimed, fenced, written and recorded like any other; only its rows
  are read from the branch's table, at the version that its claim holds. So a driver may die at any moment and the
  next one goes on; consumers see an event. A partition is promoted if it is current in the branch, given all that the
  base recorded up to the claim, and if its inputs are the same in the base: reused, or promoted and not computed
  since (`AssetState.taken`). A run of the base would compute the same rows, so the promotion uses up the same events.
  Other partitions are left, each with a reason; nothing is promoted twice.
- If the base's code is neither what the branch began with nor the branch's, somebody else changed it: what that code
  computed is not overwritten. The code at the beginning is an event of the branch, under a reserved URI (`base_uri`).
- *Views* show own and reused tables of catalogs in a schema of the branch (`branch_views`), as a run leaves them.
- *Drop* pauses the own assets by compare-and-set against a state without open claims, so that no driver claims any
  more, and removes views and tables before the journal: a killed drop is repeated. It is refused while a run of the
  branch is in flight, or while a promotion from it is not settled in the base, as that reads the branch's tables.

Branches do not know each other: a promotion of one is a move of the base for another. A branch's state has no branches.
An asset that appends or upserts is computed from nothing and promoted as a whole table, with the positions up to which
the branch has read. A shallow clone could continue from the base's rows, but it carries no transactions, so
exactly-once would start over, and a VACUUM of the base breaks it.
"""
