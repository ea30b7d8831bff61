"""The dict that a function of several outlets returns: a name is suggested where it looks like one of them."""

import pytest

from sparkassets.errors import RunError
from sparkassets.spark.functions import select_outlets


@pytest.mark.parametrize(
    ("keys", "hint"), [(("train", "tset"), "did you mean 'test'?"), (("train", "holdout"), None), (("train",), None)]
)
def test_a_hint_names_what_was_meant_or_is_none(keys, hint):
    with pytest.raises(RunError) as error:
        select_outlets(dict.fromkeys(keys), ["train", "test"], place="made")
    assert error.value.hint == hint
