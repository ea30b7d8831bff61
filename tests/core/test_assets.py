import pytest

from sparkassets.core.assets import AssetError, parse_uri


@pytest.mark.parametrize(
    "uri",
    [
        "s3://example/dataset",
        "s3://Example/Dataset",
        "x-my-thing://foobarbaz",
        "//example/dataset",
        "example_dataset",
        "s3://dataset/%C3%A8.csv",
        "abfss://container@account.dfs.core.windows.net/sales",
        "http://[::1]:8080/x",
        "s3://bucket/a?part=1&b=2#c",
        "./warehouse/daily_delays",
        "x-by:day",
        "a/b?of=x://y",
    ],
)
def test_uris_are_kept_as_written(uri):
    assert parse_uri(uri) == uri


@pytest.mark.parametrize(("one", "other"), [("s3://bucket/a", "s3://Bucket/a"), ("s3://b/a", "s3://b/a/")])
def test_uris_that_differ(one, other):
    assert parse_uri(one) != parse_uri(other)


def test_only_the_scheme_is_lowered():
    assert parse_uri("ABFSS://Container@Host/Path") == "abfss://Container@Host/Path"


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("", "the dataset URI is empty"),
        (
            "sparkassets://example_dataset",
            "the dataset URI 'sparkassets://example_dataset' uses the scheme 'sparkassets', which is reserved",
        ),
        (
            "èxample_datašet",
            (
                "the dataset URI 'èxample_datašet' contains 'è', which RFC 3986 does not allow\n  hint: write it "
                "as %C3%A8"
            ),
        ),
        (
            "s3://b/a b",
            "the dataset URI 's3://b/a b' contains ' ', which RFC 3986 does not allow\n  hint: write it as %20",
        ),
        (
            "s3://b/50%",
            (
                "the dataset URI 's3://b/50%' contains '%', which RFC 3986 does not allow\n  hint: '%' must be "
                "followed by two hexadecimal digits"
            ),
        ),
        (
            "s3://b/*.csv",
            (
                "the dataset URI 's3://b/*.csv' contains '*', as in a glob or a regular expression\n  hint: a URI "
                "identifies a single dataset"
            ),
        ),
        (
            "s3://b/year=[0-9]+/x",
            (
                "the dataset URI 's3://b/year=[0-9]+/x' contains '[', as in a glob or a regular expression\n  "
                "hint: a URI identifies a single dataset"
            ),
        ),
        (
            "x-a://" + "b" * 2043,
            "the dataset URI has 2,049 characters; expected at most 2,048",
        ),
        ("s3:", "the dataset URI 's3:' is empty after its scheme"),
        ("x:///", "the dataset URI 'x:///' is empty after its scheme"),
        (
            "1x://foo",
            (
                "the dataset URI '1x://foo' has the invalid scheme '1x'\n  hint: a scheme consists of letters, "
                "digits, '+', '-' and '.', and begins with a letter"
            ),
        ),
        (
            "postgres://me:hunter2@db/shop",
            "the dataset URI contains a password; events are clear text\n  hint: leave it out of the identity",
        ),
        (
            "https://x.blob.core.windows.net/c?sv=1&sig=abc",
            (
                "the dataset URI contains a credential in 'sig'; events are clear text\n  hint: leave it out of "
                "the identity"
            ),
        ),
    ],
)
def test_what_is_no_identity(uri, message):
    with pytest.raises(AssetError) as error:
        parse_uri(uri)
    assert str(error.value) == message
