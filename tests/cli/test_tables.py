"""Tables: aligned, inside the width, and plain where nobody sees colour."""

import io

from sparkassets.cli.output import TableCell, TableColumn, Terminal, fit_widths, print_table, wrap

COLUMNS = [TableColumn("asset"), TableColumn("rows", is_right_aligned=True), TableColumn("reason", wraps=True)]


def printed(rows, *, columns=COLUMNS, **terminal):
    stream = io.StringIO()
    print_table(Terminal(stream, **terminal), columns, rows)
    return stream.getvalue().splitlines()


def test_text_stands_left_and_numbers_right():
    assert printed([["a", "1,000", "x"], ["longer", "7", "y"]]) == [
        "  asset    rows  reason",
        "  a       1,000  x",
        "  longer      7  y",
    ]


def test_a_column_that_is_empty_everywhere_is_left_out():
    assert printed([["a", "", "x"]]) == ["  asset  reason", "  a      x"]


def test_a_long_cell_wraps_inside_the_width_and_keys_are_not_broken_at_their_hyphens():
    lines = printed([["a", "", "waits for flights 2013-01-01..2013-01-07 and for weather"]], width=40)
    assert lines == [
        "  asset  reason",
        "  a      waits for flights",
        "         2013-01-01..2013-01-07 and for",
        "         weather",
    ]


def test_no_line_is_wider_than_the_terminal():
    rows = [["a" * 50, "1", "b " * 60], ["c", "2", "d" * 130]]
    assert max(map(len, printed(rows, width=80))) <= 80


def test_without_a_terminal_nothing_wraps():
    assert printed([["a", "", "b " * 60 + "c"]])[1] == "  a      " + "b " * 60 + "c"


def test_spare_columns_make_way_the_first_ones_first():
    columns = [
        TableColumn("at", is_optional=True),
        TableColumn("run"),
        TableColumn("keys", wraps=True),
        TableColumn("interval", is_optional=True),
    ]
    row = ["2025-01-01", "a" * 20, "b " * 20, "2025-01-01 to 2025-01-02"]
    titles = {width: printed([row], columns=columns, width=width)[0].split() for width in (None, 77, 76, 64, 40)}
    every = ["at", "run", "keys", "interval"]
    assert titles == {None: every, 77: every, 76: every[1:], 64: ["run", "keys"], 40: ["run", "keys"]}


def test_colour_adds_no_width():
    plain = printed([[TableCell("a", "red"), "1", "x"]])
    coloured = printed([[TableCell("a", "red"), "1", "x"]], colour=True)
    assert coloured[1] == "  \x1b[31ma\x1b[0m         1  x"
    assert plain[1] == "  a         1  x"


def test_control_characters_do_not_reach_the_terminal():
    assert printed([["a\x1b[2J", "", "x\ry"]])[1] == "  a?[2J  x?y"


def test_only_a_range_that_is_too_long_is_broken_and_then_between_its_keys():
    assert wrap("2013-01-01..2013-01-07 and 2013-01-09", 22) == ["2013-01-01..2013-01-07", "and 2013-01-09"]
    assert wrap("2013-01-01..2013-01-07", 15) == ["2013-01-01..", "2013-01-07"]
    assert wrap("x" * 12, 5) == ["xxxxx", "xxxxx", "xx"]
    assert wrap("", 5) == [""]


def test_a_cell_may_have_lines():
    assert printed([["a", "", "x\ny"]]) == ["  asset  reason", "  a      x", "         y"]


def test_the_widest_column_gives_way_first_and_none_vanishes():
    assert fit_widths([6, 40, 60], 80, free=[False, True, True]) == [6, 34, 34]
    assert fit_widths([5, 5], 10, free=[True, True]) == [5, 5]
    assert fit_widths([100, 100], 60, free=[False, True]) == [41, 15]
    assert fit_widths([100, 100], 12, free=[False, True]) == [8, 8]
