"""Write modes: the words of the YAML, and what others ask of them."""

from sparkassets.core.writes import WRITES, Append, Replace


def test_the_words_of_the_yaml_the_default_first():
    assert {name: type(write) for name, write in WRITES.items()} == {"replace": Replace, "append": Append}
    assert next(iter(WRITES)) == "replace"


def test_what_only_adds_cannot_be_computed_again():
    assert {write.name: (write.recomputable, write.only_adds) for write in WRITES.values()} == {
        "replace": (True, False),
        "append": (False, True),
    }
