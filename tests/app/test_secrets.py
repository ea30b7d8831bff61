"""Values of secrets: from the environment, from a file, from a session of Databricks, or one clear error."""

import pytest

from sparkassets.core.spec.project_spec import SecretRef
from sparkassets.errors import FileLocation, InputError
from sparkassets.wiring.credentials import SecretValues, SettingsWithSecrets

REFS = {"KEY": SecretRef("ops", "the-key", FileLocation("conf/project.yml", 4, 3))}


class Session:
    """A session that knows the function `secret`."""

    def __init__(self, known):
        self.known = known
        self.asked = []

    def sql(self, text):
        self.asked.append(text)
        if text not in self.known:
            raise RuntimeError("no READ on scope; token=hunter2222")
        return self

    def collect(self):
        return [(self.known[self.asked[-1]],)]


def secrets(env=None, session=None):
    return SecretValues(REFS, env or {}, lambda: session)


def test_the_environment_goes_first_then_a_file_then_the_session(tmp_path):
    (tmp_path / "key").write_text("of-file\n")
    session = Session({"SELECT secret('ops', 'the-key')": "of-scope"})
    file = {"KEY_FILE": str(tmp_path / "key")}
    assert secrets({"KEY": "of-env", **file}, session)["KEY"] == "of-env"
    assert secrets(file, session)["KEY"] == "of-file"
    assert session.asked == []
    assert secrets({}, session)["KEY"] == "of-scope"


def test_it_is_asked_for_once_and_told_to_nobody():
    session = Session({"SELECT secret('ops', 'the-key')": "of-scope"})
    found = secrets({}, session)
    assert found.read_values == {}
    assert [found["KEY"], found["KEY"]] == ["of-scope", "of-scope"]
    assert len(session.asked) == 1
    assert found.read_values == {"KEY": "of-scope"}


def test_other_names_are_those_of_the_environment():
    assert secrets({"A": "1"}).get("A") == "1"
    assert secrets({}).get("A") is None
    assert set(secrets({"A": "1"})) == {"A", "KEY"}


def test_one_that_is_not_there_names_its_line():
    with pytest.raises(InputError, match=r"^conf/project\.yml:4:3: the secret 'KEY' is missing") as error:
        secrets()["KEY"]
    assert error.value.hint == "set it, or KEY_FILE; on Databricks it is key 'the-key' of scope 'ops'"
    with pytest.raises(InputError, match=r"^conf/project\.yml:4:3: the file of KEY_FILE cannot be read") as error:
        secrets({"KEY_FILE": "/no/such"})["KEY"]


def test_what_a_session_raises_is_told_without_its_text():
    with pytest.raises(InputError, match="cannot be read: key 'the-key' of scope 'ops'") as error:
        secrets({}, Session({}))["KEY"]
    assert "hunter2222" not in str(error.value)
    assert "READ on the scope" in error.value.hint


def test_settings_are_filled_when_they_are_read():
    settings = SettingsWithSecrets({"a": "x-${KEY}", "b": "${OTHER}"}, secrets({"KEY": "v"}), REFS)
    assert dict(settings) == {"a": "x-v", "b": "${OTHER}"}
    unset = SettingsWithSecrets({"a": "${KEY}", "b": "1"}, secrets(), REFS)
    assert unset.get("b") == "1"
    with pytest.raises(InputError):
        dict(unset)
