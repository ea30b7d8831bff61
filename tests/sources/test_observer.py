from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sparkassets.errors import SourceError
from sparkassets.ports import LastLook
from sparkassets.sources import make_observer
from sparkassets.sources.delta import DeltaObserver
from sparkassets.sources.files import FileObserver
from tests.sources.looks import Source
from tests.sources.texts import PlainTexts


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("delta", DeltaObserver), ("csv", FileObserver), ("json", FileObserver), ("parquet", FileObserver)],
)
def test_the_kind_of_a_source_says_who_looks(kind, expected):
    assert type(make_observer(Source("/landing", kind=kind).asset, texts=PlainTexts())) is expected


def test_nobody_looks_at_events_and_at_what_is_no_source():
    asset = Source("/landing").asset
    assert make_observer(Source("/landing", kind="events").asset, texts=PlainTexts()) is None
    assert make_observer(replace(asset, source=None), texts=PlainTexts()) is None
    assert make_observer(replace(asset, storage=None), texts=PlainTexts()) is None


@pytest.mark.parametrize("watcher", [DeltaObserver(), FileObserver(PlainTexts())])
def test_a_source_without_a_path_cannot_be_looked_at(watcher):
    asset = replace(Source("/landing").asset, storage=None)
    with pytest.raises(SourceError, match=r"^the source 'landed' has no path$"):
        watcher.observe(asset, LastLook(), now=datetime.now(UTC))
