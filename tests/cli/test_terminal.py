"""What a stream can show."""

import io

import pytest

from sparkassets.cli.output import Terminal


class Tty(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class LatinTty(Tty):
    encoding = "iso-8859-1"


def test_a_pipe_has_no_width_and_no_colour():
    terminal = Terminal.from_stream(io.StringIO(), {})
    assert (terminal.width, terminal.colour) == (None, False)


def test_a_terminal_has_both():
    terminal = Terminal.from_stream(Tty(), {"COLUMNS": "120", "TERM": "xterm"})
    assert (terminal.width, terminal.colour) == (120, True)


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_refused(env):
    terminal = Terminal.from_stream(Tty(), env)
    assert terminal.paint("x", "red") == "x"


def test_an_empty_no_color_is_not_set():
    assert Terminal.from_stream(Tty(), {"NO_COLOR": ""}).paint("x", "red", "bold") == "\x1b[31;1mx\x1b[0m"


@pytest.mark.parametrize(("columns", "width"), [("", 80), ("nonsense", 80), ("7", 40)])
def test_an_unknown_width_is_80_and_a_silly_one_40(columns, width):
    assert Terminal.from_stream(Tty(), {"COLUMNS": columns}).width == width


def test_lines_and_ticks_need_a_unicode_encoding():
    assert Terminal.from_stream(Tty(), {}).unicode
    assert not Terminal.from_stream(LatinTty(), {}).unicode
    assert not Terminal.from_stream(io.StringIO(), {}).unicode


def test_blanks_at_the_end_of_a_line_are_not_written():
    stream = io.StringIO()
    Terminal(stream).print("a  ", "", "b")
    assert stream.getvalue() == "a\n\nb\n"
