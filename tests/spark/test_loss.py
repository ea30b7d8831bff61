"""The end of Spark's JVM, as one sentence; here the JVM is a process that sleeps."""

import logging
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from sparkassets.errors import RunError
from sparkassets.ports import EngineLostError
from sparkassets.spark import gateway

UNAVAILABLE = SimpleNamespace(name="UNAVAILABLE")
Py4JError = type("Py4JError", (Exception,), {"__module__": "py4j.protocol"})
Py4JNetworkError = type("Py4JNetworkError", (Py4JError,), {"__module__": "py4j.protocol"})
Py4JJavaError = type("Py4JJavaError", (Py4JError,), {"__module__": "py4j.protocol"})

KILLED = r"^daily: Spark's JVM was killed by SIGKILL\n  hint: "
ENDED = r"^daily: Spark's JVM ended with exit code 52\n  hint: "


@pytest.fixture
def jvm(monkeypatch):
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        monkeypatch.setattr(gateway, "jvm_process", lambda: process)
        monkeypatch.setattr(gateway, "_PATIENCE_SECONDS", 30.0)
        yield process
        process.kill()


def wrapped(error):
    """What a run's code makes of an error of the connection."""
    made = RunError("daily: the query failed: no answer")
    made.__cause__ = error
    return made


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Error while sending or receiving"),
        Py4JError("An error occurred while calling o1.count"),
        wrapped(Py4JError("An error occurred while calling o1.count")),
        ConnectionRefusedError(111, "Connection refused"),
        EOFError(),
    ],
)
def test_an_error_of_the_connection_to_a_jvm_that_was_killed(jvm, error):
    jvm.kill()
    with (
        pytest.raises(EngineLostError, match=KILLED) as lost,
        gateway.raise_engine_loss("daily"),
    ):
        raise error
    assert lost.value.__cause__ is error
    assert not lost.value.retryable


def test_a_jvm_that_ended_by_itself(monkeypatch):
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(52)"]) as process:
        monkeypatch.setattr(gateway, "jvm_process", lambda: process)
        with (
            pytest.raises(EngineLostError, match=ENDED),
            gateway.raise_engine_loss("daily"),
        ):
            raise ConnectionResetError


def test_a_jvm_that_spark_submit_started_is_asked(monkeypatch):
    monkeypatch.setattr(gateway, "jvm_process", lambda: None)
    monkeypatch.setattr(gateway, "_PATIENCE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = SimpleNamespace(address="127.0.0.1", port=server.getsockname()[1])
        monkeypatch.setattr(gateway, "_known_gateway", lambda: SimpleNamespace(gateway_parameters=place))
        with pytest.raises(ConnectionResetError), gateway.raise_engine_loss("daily"):
            raise ConnectionResetError
    with (
        pytest.raises(EngineLostError, match=r"^daily: Spark's JVM ended\n  hint: "),
        gateway.raise_engine_loss("daily"),
    ):
        raise ConnectionResetError


def test_an_error_of_the_data_is_itself_though_the_jvm_is_gone(jvm):
    jvm.kill()
    for error in (RunError("no such column"), Py4JJavaError("divide by zero"), ValueError("x")):
        with pytest.raises(type(error)) as raised, gateway.raise_engine_loss("daily"):
            raise error
        assert raised.value is error


def test_a_connection_of_the_function_itself_is_its_own_error_while_the_jvm_runs(jvm, monkeypatch):
    monkeypatch.setattr(gateway, "_PATIENCE_SECONDS", 0.0)
    assert jvm.poll() is None
    with pytest.raises(ConnectionRefusedError), gateway.raise_engine_loss("daily"):
        raise ConnectionRefusedError


def test_where_there_is_no_jvm_nothing_is_said_of_it(monkeypatch):
    monkeypatch.setattr(gateway, "_known_gateway", lambda: None)
    with pytest.raises(EOFError), gateway.raise_engine_loss("daily"):
        raise EOFError


def test_what_py4j_logs_of_its_connections_is_dropped_and_nothing_else(caplog, monkeypatch):
    root = logging.getLogger()
    monkeypatch.setattr(root, "filters", [])
    py4j = logging.getLogger("py4j")
    monkeypatch.setattr(py4j, "level", logging.NOTSET)
    gateway.silence_connections()
    assert py4j.level == logging.WARNING
    py4j.level = logging.DEBUG  # somebody looks for something
    gateway.silence_connections()
    assert len(root.filters) == 1
    assert py4j.level == logging.DEBUG
    told = logging.LogRecord("root", logging.ERROR, "/x/site-packages/py4j/java_gateway.py", 1, "noise", None, None)
    own = logging.LogRecord("root", logging.ERROR, "/x/jobs/etl.py", 1, "mine", None, None)
    assert [bool(root.filter(record)) for record in (told, own)] == [False, True]


def test_a_server_of_spark_connect_that_does_not_answer():
    unavailable = Exception("failed to connect to all addresses")
    unavailable.getGrpcStatusCode = lambda: UNAVAILABLE
    error = wrapped(unavailable)
    with (
        pytest.raises(EngineLostError, match=r"^daily: the server of Spark Connect does not answer\n  hint: ") as lost,
        gateway.raise_engine_loss("daily"),
        gateway.raise_engine_loss("daily"),
    ):
        raise error
    assert lost.value.__cause__ is error
