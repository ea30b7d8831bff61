"""The fold: (state, entries) → state. Pending work follows from the journal's order alone, never from clocks.

An event is mapped to its consumers once, by the handlers of `datasets`. The success of a run that was claimed at n
clears causes up to n and no later one, so an update that arrives while a run computes is never lost
(docs/design/journal.md#fold). The fold uses the specs in the journal, not those of the checkout. `dispatch` has the
handler of each kind of entry.
"""
