"""The page that the commands write of themselves."""

from sparkassets.cli.app import COMMANDS
from sparkassets.cli.manual import manual


def test_every_command_is_there_with_its_options():
    page = manual()
    assert page.count("\n## sparkassets\n") == page.count("\n## sparkassets init\n") == 1
    for verb in COMMANDS:
        assert f"\n## sparkassets {verb}\n\n```text\nUsage: sparkassets {verb} " in page
    assert "\n## sparkassets events add\n" in page
    assert "  -h, --help " in page
    assert "  --downstream " in page


def test_no_line_has_blanks_at_its_end_and_none_is_wide():
    assert all(line == line.rstrip() and len(line) <= 100 for line in manual().splitlines())
