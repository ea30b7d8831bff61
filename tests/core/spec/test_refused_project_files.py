"""Project files that are refused."""

import pytest

from tests.core.spec.in_memory import errors


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {
                "project.yml": """\
project: my shop
state: s3://k:secret@b/x
warehouse: '{{ job.x }}/y'
timezone: Mars
assets: x
python: [1]
spark: {a: [1]}
max_parallel_runs: 0
defaults: {retries: -1, timeout: 0s, leese: 1m}
parallel: 3
""",
                "a.yml": """\
asset: a
source: true
""",
            },
            """\
project.yml:1:10: 'project' is 'my shop'; expected at most 128 letters, digits and '_', not beginning with a digit
    project: my shop
             ^^^^^^^
project.yml:2:8: 'state' contains a password; events and messages are clear text
project.yml:3:13: this text still contains '{{': a job parameter or template was not filled in
    warehouse: '{{ job.x }}/y'
                ^^
project.yml:4:11: unknown time zone 'Mars'; expected an IANA name such as Europe/Berlin
    timezone: Mars
              ^^^^
project.yml:5:9: 'assets' is 'x'; expected a list of folders
    assets: x
            ^
project.yml:6:10: item 1 of 'python' is 1; expected the name of a package
    python: [1]
             ^
project.yml:7:12: 'a' in 'spark' is a list; expected text, a number, true or false
    spark: {a: [1]}
               ^^^
project.yml:8:20: 'max_parallel_runs' is 0; expected a whole number of at least 1
    max_parallel_runs: 0
                       ^
project.yml:9:21: 'retries' in 'defaults' is -1; expected a whole number of at least 0
    defaults: {retries: -1, timeout: 0s, leese: 1m}
                        ^^
project.yml:9:34: 'timeout' is '0s'; expected a positive duration
    defaults: {retries: -1, timeout: 0s, leese: 1m}
                                     ^^
project.yml:9:38: unknown key 'leese' in 'defaults'
    defaults: {retries: -1, timeout: 0s, leese: 1m}
                                         ^^^^^
  hint: did you mean 'lease'?
project.yml:10:1: unknown key 'parallel' in the project file
    parallel: 3
    ^^^^^^^^
  hint: did you mean 'max_parallel_runs'?
""",
            id="everything_wrong",
        ),
        pytest.param(
            {
                "project.yml": """\
project: p
state: {catalog: main}
""",
                "a.yml": """\
asset: a
source: true
""",
            },
            """\
project.yml:2:8: the state lacks 'schema'; expected a folder, a URI or {catalog: <name>, schema: <name>}
    state: {catalog: main}
           ^^^^^^^^^^^^^^^
""",
            id="a_catalog",
        ),
        pytest.param(
            {
                "project.yml": """\
timezone: UTC
""",
                "a.yml": """\
asset: a
source: true
""",
            },
            """\
project.yml:1:1: missing key 'project' in the project file
    timezone: UTC
    ^^^^^^^^^^^^^
""",
            id="no_name",
        ),
        pytest.param(
            {
                "project.yml": """\
# x
""",
                "a.yml": """\
asset: a
source: true
""",
            },
            """\
project.yml:1:1: the project file is empty; expected at least 'project: <name>'
    # x
    ^
""",
            id="empty",
        ),
        pytest.param(
            {
                "project.yml": """\
- x
""",
                "a.yml": """\
asset: a
source: true
""",
            },
            """\
project.yml:1:1: the project file is not a map; expected keys such as 'project: <name>'
    - x
    ^
""",
            id="a_list",
        ),
        pytest.param(
            {
                "project.yml": """\
project: @x
""",
                "a.yml": """\
asset: a
source: true
""",
            },
            """\
project.yml:1:10: text that begins with '@' must be quoted
    project: @x
             ^^
  hint: write "@x"
""",
            id="no_yaml",
        ),
    ],
)
def test_refused(files, expected):
    assert errors(files) + "\n" == expected
