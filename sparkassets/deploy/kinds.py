"""What is written for each place that a project may run in, by the templates beside this file."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import which
from typing import Any, Final, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sparkassets.deploy.owned import Content
from sparkassets.deploy.ticks import on_calendar, quartz
from sparkassets.deploy.wheel import Wheel
from sparkassets.errors import InputError
from sparkassets.frozen import frozen

Kind = Literal["databricks", "airflow", "kubernetes", "cron", "systemd"]
_Files = dict[str, Content]
_TEMPLATES: Final = Path(__file__).parent / "templates"
_START_OF_TIME: Final = 2025
"""A year that is over: what starts a project is due at the next tick."""


@frozen
class Deployment:
    """What is to run, when and where.

    Attributes:
        project: Its name.
        folder: The project's, absolute, on this machine.
        out: Where the files are written, absolute.
        arguments: What follows ``sparkassets run`` in every place, without project and profile.
        profile: That holds; empty where there is none.
        profiles: All that there are; of a bundle the targets, the first is the usual one.
        cron: When it starts.
        timezone: Of ``cron``.
        loop: The pause between two looks, where it does not end by itself; ``cron`` is nothing then.
        variables: Of the environment, those that the project needs.
        wheel: Of the project, where it is not run in its folder.
        library: The file name of a wheel of sparkassets that goes with it; empty where an index has it.
        timeout: Seconds after which a start that has not ended is stopped.
        mail: Who is told of a start that failed; empty is nobody.
        cluster: The runtime and the type of nodes of a job's own cluster; None is serverless.
        group: May start the job and see what it does; empty is nobody else.
        command: What starts Python's sparkassets on this machine.
    """

    project: str
    folder: str
    out: str
    arguments: tuple[str, ...] = ()
    profile: str = ""
    profiles: tuple[str, ...] = ()
    cron: str = "0 * * * *"
    timezone: str = "UTC"
    loop: str | None = None
    variables: tuple[str, ...] = ()
    wheel: Wheel | None = None
    library: str = ""
    timeout: int = 86_400
    mail: str = ""
    cluster: tuple[str, str] | None = None
    group: str = ""
    command: tuple[str, ...] = ("sparkassets",)

    @property
    def name(self) -> str:
        """By which it is told from other projects and other profiles."""
        return f"{self.project}_{self.profile}" if self.profile else self.project

    @property
    def resource(self) -> str:
        """Its name where letters are small and there is no underscore."""
        return self.name.lower().replace("_", "-").strip("-")

    @property
    def run(self) -> tuple[str, ...]:
        """The command and its arguments, without project and profile."""
        return ("run", *self.arguments, *(("--loop", self.loop) if self.loop else ()))

    @property
    def here(self) -> tuple[str, ...]:
        """All of the command line, on this machine."""
        profile = ("--profile", self.profile) if self.profile else ()
        return (*self.command, *self.run, "--project", self.folder, *profile)


def files_of(kind: Kind, deployment: Deployment) -> Mapping[str, Content]:
    """The files of a deployment, by their paths in its folder.

    Raises:
        InputError: It cannot run so in that place.
    """
    return _KINDS[kind](deployment)


def _databricks(deployment: Deployment) -> _Files:
    if deployment.loop is None:
        quartz(deployment.cron)  # or there is no saying when
    _refuse_filled_in(deployment.run, ("${",), "Databricks")
    return {"databricks.yml": _rendered("databricks.yml.j2", deployment, quartz=quartz)}


def _airflow(deployment: Deployment) -> _Files:
    _refuse_loop(deployment, "Airflow starts tasks that end")
    _refuse_filled_in(deployment.here, ("{{", "{%", "{#"), "Airflow")
    line = _typed(deployment.here)
    more: dict[str, Any] = {"line": line, "year": _START_OF_TIME, "java": _java()}
    return {f"{deployment.name}.py": _rendered("airflow.py.j2", deployment, **more)}


def _kubernetes(deployment: Deployment) -> _Files:
    if deployment.mail:
        raise InputError("--mail: Kubernetes sends none", hint="`notify` of the project tells people")
    name = "deployment.yaml" if deployment.loop else "cronjob.yaml"
    return {
        name: _rendered("kubernetes.yaml.j2", deployment, literal=_literal),
        "Dockerfile": _rendered("Dockerfile.j2", deployment),
    }


def _cron(deployment: Deployment) -> _Files:
    _refuse_loop(deployment, "cron starts what ends")
    script = Path(deployment.out, f"{deployment.name}.sh")
    more: dict[str, Any] = {"line": _typed(deployment.here), "java": _java(), "log": str(script.with_suffix(".log"))}
    return {
        "crontab": _rendered("crontab.j2", deployment, line=_typed((str(script),)).replace("%", "\\%")),
        script.name: _rendered("run.sh.j2", deployment, **more, executable=True),
    }


def _systemd(deployment: Deployment) -> _Files:
    if deployment.mail:
        raise InputError(
            "--mail: systemd sends none", hint="`notify` of the project tells people, or an OnFailure= unit"
        )
    unit = f"sparkassets-{deployment.resource}"
    line = " ".join(map(_unit_word, deployment.here))
    java = _escaped(f"JAVA_HOME={found}") if (found := _java()) else ""
    files = {f"{unit}.service": _rendered("service.j2", deployment, line=line, java=java, unit=unit)}
    if deployment.loop is None:
        when = on_calendar(deployment.cron, deployment.timezone)
        files[f"{unit}.timer"] = _rendered("timer.j2", deployment, when=when)
    return files


_KINDS: Final[Mapping[Kind, Callable[[Deployment], _Files]]] = {
    "databricks": _databricks,
    "airflow": _airflow,
    "kubernetes": _kubernetes,
    "cron": _cron,
    "systemd": _systemd,
}


def _refuse_loop(deployment: Deployment, why: str) -> None:
    if deployment.loop is not None:
        raise InputError(f"--loop: {why}", hint="leave it out, or deploy to databricks, kubernetes or systemd")


def _refuse_filled_in(words: tuple[str, ...], marks: tuple[str, ...], whose: str) -> None:
    """Refuses what would arrive as another text than was given.

    Raises:
        InputError: A word holds a template of the place that it runs in.
    """
    for word in words:
        if found := next((mark for mark in marks if mark in word), None):
            hint = "write it into the file by hand if that is meant"
            raise InputError(f"{whose} fills in what begins with {found} in its arguments: {word}", hint=hint)


def _java() -> str:
    """Where this machine's Java is, which programs without a shell are not told."""
    found = which("java")
    return os.environ.get("JAVA_HOME") or (str(Path(found).resolve().parents[1]) if found else "")


def _typed(words: tuple[str, ...]) -> str:
    return shlex.join(words)


def _unit_word(word: str) -> str:
    """A word of a command line in a unit of systemd."""
    escaped = _escaped(word).replace("$", "$$")
    plain = escaped == word and word and not any(each.isspace() or each in "'\";" for each in word)
    return word if plain else f'"{escaped}"'


def _escaped(text: str) -> str:
    """What stands between quotes in a unit of systemd, in one line."""
    known = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return "".join(each if each.isprintable() else _code(each) for each in known)


def _code(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def _literal(text: str) -> str:
    """An argument as Kubernetes leaves it, which fills in ``$(NAME)``."""
    return text.replace("$", "$$")


def _quoted(text: str) -> str:
    """A text as JSON writes it, and so YAML, which reads some characters only where they are escaped, and Python."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _rendered(template: str, deployment: Deployment, *, executable: bool = False, **more: Any) -> Content:  # noqa: ANN401
    """A template's text; ``q`` in it quotes for YAML and Python, ``sh`` for a shell."""
    environment = Environment(  # noqa: S701  no HTML
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["q"] = _quoted
    environment.filters["sh"] = shlex.quote
    text = environment.get_template(template).render(d=deployment, **more)
    return Content(text.encode(), executable)
