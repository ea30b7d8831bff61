"""The `sparkassets` command in the test's own process, on the session that is there."""

import pytest

from sparkassets.cli import main


@pytest.fixture
def run_cli(capfd):
    """Runs a command: (exit code, stdout, stderr), as the file descriptors saw them."""

    def run(*arguments):
        capfd.readouterr()
        code = main(arguments)
        return code, *capfd.readouterr()

    return run
