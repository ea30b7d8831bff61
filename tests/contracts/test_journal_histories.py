"""Whatever is done in turn with several stores of one state, letting go of entries as well: as one store in memory."""

from __future__ import annotations

import pytest

from sparkassets.state.delta_store import DeltaStore
from tests.contracts.journal_histories import play
from tests.depth import examples


@pytest.mark.parametrize("seed", range(examples(6)))
def test_stores_of_one_folder(seed, tmp_path):
    done = play([DeltaStore(str(tmp_path / "state")) for _ in range(2)], seed=seed, steps=40)
    assert any(each.endswith("expire") for each in done)
