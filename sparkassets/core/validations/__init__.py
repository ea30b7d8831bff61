"""Validations: rules for rows before they are published, and the verdicts that follow from measured numbers.

What measures the rows is elsewhere; here is what is measured (`Tally`) and what follows from it (`judge`).
"""

from sparkassets.core.validations.checks import (
    AcceptedCheck,
    Check,
    CheckScope,
    ForeignKeyCheck,
    FreshnessCheck,
    HasColumnsCheck,
    NotNullCheck,
    PatternCheck,
    PythonCheck,
    RangeCheck,
    RegisteredCheck,
    RowCountChange,
    RowCountCheck,
    SqlCheck,
    UniqueCheck,
)
from sparkassets.core.validations.judgement_json import (
    judgement_from,
    judgement_to,
    verdicts_from,
    verdicts_to,
)
from sparkassets.core.validations.rules import (
    FailureAllowance,
    Severity,
    ValidationRule,
    row_removing_rules,
    rules_digest,
)
from sparkassets.core.validations.verdicts import (
    MASKED,
    FailingRow,
    PartitionRowCount,
    PastRowCounts,
    RuleOutcome,
    RuleTally,
    RuleVerdict,
    RunJudgement,
    limit_tallies,
    qualified_rule_name,
)

__all__ = [
    "MASKED",
    "AcceptedCheck",
    "Check",
    "CheckScope",
    "FailingRow",
    "FailureAllowance",
    "ForeignKeyCheck",
    "FreshnessCheck",
    "HasColumnsCheck",
    "NotNullCheck",
    "PartitionRowCount",
    "PastRowCounts",
    "PatternCheck",
    "PythonCheck",
    "RangeCheck",
    "RegisteredCheck",
    "RowCountChange",
    "RowCountCheck",
    "RuleOutcome",
    "RuleTally",
    "RuleVerdict",
    "RunJudgement",
    "Severity",
    "SqlCheck",
    "UniqueCheck",
    "ValidationRule",
    "judgement_from",
    "judgement_to",
    "limit_tallies",
    "qualified_rule_name",
    "row_removing_rules",
    "rules_digest",
    "verdicts_from",
    "verdicts_to",
]
