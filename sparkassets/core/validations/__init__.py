"""What is asked of rows before they are published, and what becomes of them: from rules and numbers to verdicts.

What measures the rows is elsewhere; here is what is measured (`Tally`) and what follows from it (`judge`).
"""

from sparkassets.core.validations.checks import (
    Accepted,
    Change,
    Check,
    ForeignKey,
    Freshness,
    HasColumns,
    NotNull,
    Pattern,
    PythonCheck,
    Range,
    RegisteredCheck,
    RowCount,
    Scope,
    SqlCheck,
    Unique,
)
from sparkassets.core.validations.figures import (
    MASKED,
    Counted,
    Judgement,
    Outcome,
    Past,
    Sample,
    Tally,
    Verdict,
    few_tallies,
    rule_of,
)
from sparkassets.core.validations.judge import judge
from sparkassets.core.validations.plain import (
    judgement_from,
    judgement_to,
    verdicts_from,
    verdicts_to,
)
from sparkassets.core.validations.rules import Allowance, Rule, Severity, digest_of, taking

__all__ = [
    "MASKED",
    "Accepted",
    "Allowance",
    "Change",
    "Check",
    "Counted",
    "ForeignKey",
    "Freshness",
    "HasColumns",
    "Judgement",
    "NotNull",
    "Outcome",
    "Past",
    "Pattern",
    "PythonCheck",
    "Range",
    "RegisteredCheck",
    "RowCount",
    "Rule",
    "Sample",
    "Scope",
    "Severity",
    "SqlCheck",
    "Tally",
    "Unique",
    "Verdict",
    "digest_of",
    "few_tallies",
    "judge",
    "judgement_from",
    "judgement_to",
    "rule_of",
    "taking",
    "verdicts_from",
    "verdicts_to",
]
