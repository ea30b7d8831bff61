"""``--select`` and ``--exclude``: by tags, owners, folders and states, with the project's defaults by folder."""

import pytest

from sparkassets import Project

PROJECT = {
    "project.yml": (
        "project: shop\nassets: [assets]\n"
        "defaults:\n  owner: data\n  tags: [all]\n  folders:\n    assets/sales: {owner: sales, tags: [daily]}\n"
        "    assets/sales/eu: {tags: [eu]}\n"
        "notify:\n- {to: ALERTS, select: 'tag:eu'}\n- {to: OTHERS, select: '!tag:eu', on: failure}\n"
    ),
    "assets/orders.yml": "asset: orders\nsource: true\nuri: x-orders\n",
    "assets/sales/daily.yml": "asset: daily\ninlets: {orders: }\nwrite: self\nschedule: manual\nowner: ann\n",
    "assets/sales/eu/berlin.yml": "asset: berlin\nwrite: self\nschedule: manual\ntags: [de, daily]\n",
}


@pytest.fixture(autouse=True)
def conf(make_conf):
    return make_conf(PROJECT)


def test_owners_and_tags_come_from_folders(conf):
    assets = Project.load(conf).spec.assets
    labels = {name: (asset.owner, asset.tags) for name, asset in assets.items()}
    assert labels == {
        "orders": ("data", ("all",)),
        "daily": ("ann", ("all", "daily")),
        "berlin": ("sales", ("all", "daily", "eu", "de")),
    }


def test_notifications_of_the_project_select_assets(conf):
    assets = Project.load(conf).spec.assets
    receivers = {name: [rule.to for rule in asset.notify] for name, asset in assets.items()}
    assert receivers == {"orders": [("OTHERS",)], "daily": [("OTHERS",)], "berlin": [("ALERTS",)]}


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (["--select", "tag:daily"], {"daily", "berlin"}),
        (["--select", "tag:daily", "--exclude", "owner:ann"], {"berlin"}),
        (["--exclude", "type:source, tag:eu"], {"daily"}),
        (["--select", "path:assets/sales/"], {"daily", "berlin"}),
        (["--select", "state:failed"], set()),
        (["--exclude", "state:paused"], {"orders", "berlin"}),
        (["--select", "state:paused"], {"daily"}),
    ],
)
def test_commands_take_what_is_selected_without_what_is_excluded(run_json, args, names):
    run_json("pause", "daily")
    assert {each["asset"] for each in run_json("status", *args)} == names


def test_python_takes_what_the_command_line_takes(conf):
    assert Project.load(conf).assets.select("tag:daily,!owner:ann") == ("berlin",)
    assert Project.load(conf).assets.select(["orders+1"]) == ("orders", "daily")


def test_a_wrong_term_names_the_option(run_cli):
    code, out, err = run_cli("status", "--exclude", "tag:dayly")
    assert (code, out) == (2, "")
    assert err == ("error: --select: no asset of project 'shop' has 'tag:dayly'\n  hint: did you mean 'daily'?\n")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "assets/sales/eu:",
            "assets/sale:",
            "the folder 'assets/sale' holds no file of an asset",
        ),
        ("'tag:eu'", "'tag:us'", "'select' of 'notify': no asset of project 'shop' has 'tag:us'"),
        ("'tag:eu'", "'state:failed'", "'select' of 'notify': 'state:failed' cannot be used here"),
        ("tags: [all]", "tags: ['a b']", "tags"),
    ],
)
def test_wrong_defaults_and_selections_are_problems_of_the_file(run_cli, conf, old, new, problem):
    text = (conf / "project.yml").read_text()
    (conf / "project.yml").write_text(text.replace(old, new, 1))
    code, _, err = run_cli("validate")
    assert code == 2
    assert problem in err


def test_rules_of_one_asset_select_nothing(run_cli, conf):
    (conf / "assets" / "orders.yml").write_text("asset: orders\nsource: true\nnotify: {to: X, select: orders}\n")
    code, _, err = run_cli("validate")
    assert code == 2
    assert "conf/assets/orders.yml:3:17: 'select' goes with the project's 'notify'" in err
