"""Branches: changed code beside what runs, without copying data (docs/branches.md).

A branch is a project with a journal and a warehouse of its own, `<state>/branches/NAME` and
`<warehouse>/_branches/NAME`, run by the same driver under the same protocol. Nothing of it is told to people.

- *Own* assets are those whose code, partitions or inlets are not the base's, those that the base does not know, and
  all that read such (`forking`). They are computed into the branch, from nothing. What once was own stays so: after a
  promotion the base's code is the branch's, and the branch still knows what is its own.
- *Reused* assets are sources in the branch. What is looked at is not their table but the base's journal (`mirror`):
  coverage, events since, and the version that is recorded there, at which the branch reads. So a base that moves on is
  news in the branch like any other: what read it is stale, and computed again.
  Of a dataset that was updated since it was read, and whose events the base may not keep any more (`retention`), all
  that is there counts as new (`is_missed`); where none was, the cursor goes on, so who reads in time misses nothing.
- *Promotion* is a run of the base (`promotion`), claimed, fenced, written and recorded like any other; only its rows
  are read from the branch's table, at the version that its claim holds. So a driver may die at any moment and whoever
  comes next goes on; consumers see an event. A partition is promoted where, with all that the base has recorded up to
  the
  claim, it is current in the branch, and what it was made of is the same in the base: reused, or promoted and not
  computed since (`AssetState.taken`). A run of it would come out as it is, so it uses up what such a run would. What
  is not the same is left, and it is said why; nothing that was promoted is promoted again.
- The base's code, where it is neither what the branch began with nor the branch's, is somebody else's change: what
  it made is not overwritten. What it was is an event of the branch, under a reserved identity (`base_uri`).
- *Drop* pauses the own assets by compare-and-set against a state without open claims, so that no driver claims any
  more, and removes tables before the journal: killed in between it is done again. It is refused while a run of the
  branch is in flight, or a promotion from it is not settled in the base: that reads the branch's tables.

Two branches know nothing of each other: what one promotes is a move of the base for the other. A state that is a
branch's has no branches. Not promoted, and said by name: what appends, upserts or publishes, whose tables are their
history. Shallow clones, by which such could go on from the base's rows, carry no transactions, so that exactly-once
would begin anew, and a VACUUM of the base breaks them; so a branch computes them from nothing.
"""
