"""What nobody sees in a text is shown escaped: a name that turns its direction looks like another one."""

import json

import pytest

UNSEEN = "inv\u202eoices\u200b\u2066x"
SHOWN = "inv\\u202eoices\\u200b\\u2066x"


@pytest.mark.parametrize("command", [("explain", UNSEEN), ("events", "add", f"x-a://{UNSEEN}"), ("runs", UNSEEN)])
def test_messages_show_it_escaped(shop, run_cli, command):
    code, out, err = run_cli(*command)
    assert code == 2
    assert SHOWN.rstrip("x") in err or "\\u202e" in err
    assert not set("\u202e\u200b\u2066") & set(out + err)


def test_documents_have_it_as_json_escapes(shop, run_cli):
    code, out, _ = run_cli("explain", UNSEEN, "--json")
    assert code == 2
    assert SHOWN in out.replace("\\\\", "\\")
    assert not set("\u202e\u200b\u2066") & set(out)
    json.loads(out)


def test_it_is_kept_as_it_is(shop, run_cli, run_json):
    assert run_cli("events", "add", "orders", "--extra", json.dumps({"note": UNSEEN}))[0] == 0
    code, out, _ = run_cli("events", "list", "--json")
    assert (code, "\u202e" in out) == (0, False)
    assert any(each["extra"].get("note") == UNSEEN for each in run_json("events", "list"))
