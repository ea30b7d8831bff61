"""What a run failed of: a line and a hint for people, and a file with all of it."""

from __future__ import annotations

import traceback

from sparkassets.core.phrases import escape_unwritable
from sparkassets.core.redaction import redact
from sparkassets.core.spec.model import ProjectSpec
from sparkassets.emit.run_logs import LOG_CHARACTERS, append
from sparkassets.errors import SparkAssetsError, describe_error
from sparkassets.runtime.progress import FailureExplanation
from sparkassets.wiring.logs import log_folder


def explain_failure(project: ProjectSpec, run: str, error: BaseException) -> FailureExplanation:
    """What to tell of a failure, without credentials and without values of the environment. Never raises.

    The whole story is written into the run's log, after what it printed and logged.
    """
    if issubclass(type(error), SparkAssetsError) and isinstance(error, SparkAssetsError):
        told, hint = str(error.args[0]).strip().partition("\n")[0], error.hint or ""
    else:
        told, hint = describe_error(error), ""
    variables = project.variables
    told, hint = (escape_unwritable(redact(each, variables=variables)) for each in (told, hint))
    file = log_folder(project) / f"{run}.log"
    try:
        append(file, redact(_story(error), variables=variables))
    except OSError:
        return FailureExplanation(told, hint)
    return FailureExplanation(told, hint, str(file))


def _story(error: BaseException) -> str:
    try:
        story = "".join(traceback.format_exception(error))
    except BaseException:  # noqa: BLE001  what an author's class does when it is looked at
        story = f"{describe_error(error)}\n{''.join(traceback.format_tb(error.__traceback__))}"
    half = LOG_CHARACTERS // 2
    return story if len(story) <= LOG_CHARACTERS else f"{story[:half]}\n[…]\n{story[-half:]}"
