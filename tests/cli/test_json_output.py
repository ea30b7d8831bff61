"""How ``--json`` prints a document."""

from sparkassets.cli.output import json_text


def test_a_document_ends_with_a_line_end_and_keeps_its_letters():
    assert json_text({"a": "ü"}) == '{\n  "a": "ü"\n}\n'
