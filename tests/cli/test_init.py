"""`init`: a project that is valid as it is, written whole or not at all."""


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


def test_init_writes_a_project_and_says_what_to_type(tmp_path, monkeypatch, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = said("init")
    assert (code, err) == (0, "")
    assert lines(out) == [
        "wrote conf/assets/best_shops.sql",
        "wrote conf/assets/best_shops.yml",
        "wrote conf/assets/daily_revenue.sql",
        "wrote conf/assets/daily_revenue.yml",
        "wrote conf/assets/orders.yml",
        "wrote conf/.gitignore",
        "wrote conf/landing/orders/2025-01-01.csv",
        "wrote conf/landing/orders/2025-01-02.csv",
        "wrote conf/project.yml",
        "",
        "next:",
        "  sparkassets plan",
        "  sparkassets run",
        "  sparkassets status",
    ]
    assert len((tmp_path / "conf/assets/daily_revenue.yml").read_text().splitlines()) == 2


def test_init_elsewhere_says_where(tmp_path, monkeypatch, said):
    monkeypatch.chdir(tmp_path)
    _, out, _ = said("init", "shop")
    assert "  sparkassets plan --project shop" in lines(out)
    assert said("validate", "--project", "shop")[0] == 0


def test_init_overwrites_nothing_and_then_writes_nothing(shop, said):
    (shop / "project.yml").unlink()
    (shop / "assets/orders.yml").write_text("mine")
    code, out, err = said("init")
    assert (code, out) == (2, "")
    assert lines(err) == [
        "error: 'conf/assets/best_shops.sql' is there already; nothing was written",
        "  hint: name another folder: sparkassets init conf2",
    ]
    assert (shop / "assets/orders.yml").read_text() == "mine"
    assert not (shop / "project.yml").exists()


def test_init_below_a_file_is_refused(tmp_path, monkeypatch, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert said("init", "file/shop") == (2, "", "error: cannot write into 'file/shop': Not a directory\n")
