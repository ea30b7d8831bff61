"""Who holds a run is told with the time since its newest renewal, before and after a snapshot."""

from sparkassets.core.journal.codec import decode, encode
from sparkassets.core.journal.entries import RenewEntry
from sparkassets.core.planner.explain.status import ClaimHolder, find_claim_holders
from tests.builders import Story, asset, at, project, source


def test_a_renewal_proves_that_a_driver_lives():
    story = Story(project(source("s"), asset("a", "s", lease_seconds=600)))
    story.observed("s", "2025-01-01")
    (run,) = story.plan().runs
    story.clock = "2025-02-01T00:00:00Z"
    claim = story.claim(run)
    story.clock = "2025-02-01T00:03:00Z"
    assert claim_holders(story) == [ClaimHolder(f"a-{claim}", "test", at("2025-02-01"), 180, 600, gone=False)]
    story.add(RenewEntry([("a", claim)]))
    story.clock = "2025-02-01T00:03:40Z"
    assert claim_holders(story) == [ClaimHolder(f"a-{claim}", "test", at("2025-02-01"), 40, 600, gone=False)]
    story.state = decode(encode(story.state), journal_id="journal")
    assert claim_holders(story, gone_claims=frozenset({claim})) == [
        ClaimHolder(f"a-{claim}", "test", at("2025-02-01"), 40, 600, gone=True)
    ]
    story.clock = "2025-02-01T00:01:00Z"  # that of this host is behind
    assert [holder.silent_seconds for holder in claim_holders(story)] == [0]
    story.succeed("a", claim)
    assert claim_holders(story) == []


def claim_holders(story: Story, **more) -> list[ClaimHolder]:
    return [*find_claim_holders(story.context(**more), story.state.assets["a"])]
