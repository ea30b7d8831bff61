"""Warnings: URIs are compared as written, so those that differ only in case or a slash are probably one dataset."""

from hypothesis import given
from hypothesis import strategies as st

from tests.core.spec.in_memory import compiled


def warnings(**files):
    """The text of a project's warnings."""
    return "\n".join(map(str, compiled({f"{name}.yml": text for name, text in files.items()}).warnings)) + "\n"


def test_an_asset_whose_uri_another_nearly_has():
    files = {
        "a": "asset: a\nsource: true\nuri: s3://lake/orders\n",
        "b": "asset: b\nsource: true\nuri: s3://lake/orders/\n",
        "c": "asset: c\nsource: true\nuri: s3://Lake/orders\n",
    }
    assert (
        warnings(**files)
        == """\
b.yml:3:6: 's3://lake/orders/' is not the dataset 's3://lake/orders' of asset 'a': a slash at the end differs
    uri: s3://lake/orders/
         ^^^^^^^^^^^^^^^^^
  hint: URIs are compared as written; if you mean the same dataset, write 's3://lake/orders'
c.yml:3:6: 's3://Lake/orders' is not the dataset 's3://lake/orders' of asset 'a': case differs
    uri: s3://Lake/orders
         ^^^^^^^^^^^^^^^^
  hint: URIs are compared as written; if you mean the same dataset, write 's3://lake/orders'
"""
    )


def test_a_condition_that_names_nearly_the_uri_of_an_asset():
    files = {
        "a": "asset: a\nsource: true\nuri: s3://lake/orders\n",
        "b": "asset: b\nschedule: a & s3://lake/orders/\nsql: SELECT 1\n",
    }
    assert (
        warnings(**files)
        == """\
b.yml:2:15: 's3://lake/orders/' is not the dataset 's3://lake/orders' of asset 'a': a slash at the end differs
    schedule: a & s3://lake/orders/
                  ^^^^^^^^^^^^^^^^^
  hint: URIs are compared as written; if you mean the same dataset, write 's3://lake/orders'
"""
    )


def test_two_conditions_and_a_path():
    files = {
        "a": "asset: a\nschedule: x-drop://Inbox\nsql: SELECT 1\n",
        "b": "asset: b\nschedule: x-drop://inbox\nsql: SELECT 1\n",
        "c": "asset: c\nsource: delta\npath: s3://lake/t\n",
        "d": "asset: d\nsource: true\nuri: s3://lake/t/\n",
    }
    told = warnings(**files)
    assert "b.yml:2:11: 'x-drop://inbox' is not the dataset 'x-drop://Inbox' of the condition of asset 'a': " in told
    assert "d.yml:3:6: 's3://lake/t/' is not the dataset 's3://lake/t' of asset 'c': " in told


@given(st.lists(st.sampled_from(["s3://a/b", "s3://a/c", "x-d://a"]), min_size=1, max_size=4))
def test_the_same_uri_again_and_others_are_no_warning(uris):
    files = {f"a{i}": f"asset: a{i}\nsource: true\nuri: {uri}\n" for i, uri in enumerate(uris)}
    assert not compiled({f"{name}.yml": text for name, text in files.items()}).warnings
