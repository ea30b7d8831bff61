"""`write: {publish: …}`: what is read of it, and what is refused at its place."""

import pytest

from sparkassets.core.writes import PublishWrite
from tests.core.spec.in_memory import errors_of, one

HEAD = "asset: a\ninlets: [flights]\nsql: SELECT 1 AS n FROM {{ inlets.flights }}\n"


def test_it_keeps_so_many_and_all_of_it_is_news():
    made = one(f"{HEAD}write: {{publish: {{keep: 3}}}}")
    assert (made.write, made.unchanged) == (PublishWrite(3), "publish")


def test_how_many_it_keeps_is_none_of_the_code():
    first, second = (one(f"{HEAD}write: {{publish: {{keep: {keep}}}}}") for keep in (1, 2))
    assert first.definition is not None
    assert first.definition == second.definition


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        (HEAD + "write: {publish: {}}", "a.yml:4:18: missing key 'keep' in 'publish'"),
        (
            HEAD + "write: {publish: {keep: 0}}",
            "a.yml:4:25: 'keep' in 'publish' is 0; expected a whole number of at least 1",
        ),
        (HEAD + "write: publish", "write {publish: {keep: 10}}"),
        (
            HEAD + "write: {publish: {keep: 1}, upsert: {keys: [id]}}",
            "'upsert' and 'publish' exclude each other",
        ),
        (
            HEAD + "unchanged: skip\nwrite: {publish: {keep: 1}}",
            "'unchanged: skip' needs 'write: replace' or an upsert: added rows are always an update",
        ),
        (
            HEAD + "partition: {by: day, column: n}\nwrite: {publish: {keep: 1}}",
            "cannot 'publish': each run publishes one iteration, but computes many partitions; use",
        ),
    ],
    ids=["no_keep", "keeps_none", "a_word", "two_writes", "skip", "many_in_a_run"],
)
def test_what_is_refused(yaml, expected):
    assert expected in errors_of(yaml)
