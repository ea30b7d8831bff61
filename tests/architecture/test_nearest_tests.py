"""Which tests `make check` takes first."""

from tests.architecture.nearest_tests import distances, imported, nearest_tests

FILES = {
    "pack/core/ranges.py": "",
    "pack/core/planner/gates.py": "from pack.core.ranges import Range\n",
    "pack/core/planner/plan.py": "def plan():\n    from pack.core.planner import gates\n",
    "pack/core/lonely.py": "",
    "tests/core/test_ranges.py": "from pack.core.ranges import Range\n",
    "tests/core/planner/test_gates.py": "from pack.core.planner.plan import plan\n",
    "tests/core/planner/test_plan.py": "from pack.core.planner.plan import plan\n",
    "tests/project/test_docs_links.py": "import re\n",
    "tests/project/test_schema.py": "SCHEMA = 'conf/schema.json'\n",
}
FOLDERS = ["tests/core", "tests/project"]


def test_imports_over_several_lines_and_within_functions_are_found():
    text = "from pack.core import (\n    a,\n    b as c,\n)\n\ndef f():\n    import pack.cli\n"
    assert {"pack.core.a", "pack.core.b", "pack.cli"} <= imported(text)


def test_the_distance_is_the_number_of_imports_between():
    found = distances(["pack/core/ranges.py"], FILES)
    assert found["pack/core/planner/gates.py"] == 1
    assert found["tests/core/planner/test_plan.py"] == 3
    assert "pack/core/lonely.py" not in found


def test_tests_that_import_a_changed_module_come_before_those_that_reach_it():
    found = nearest_tests(["pack/core/ranges.py"], FILES, FOLDERS)
    assert found == ["tests/core/test_ranges.py", "tests/core/planner/test_gates.py", "tests/core/planner/test_plan.py"]


def test_tests_named_like_a_changed_module_come_first():
    assert nearest_tests(["pack/core/planner/gates.py"], FILES, FOLDERS)[0] == "tests/core/planner/test_gates.py"


def test_pages_belong_to_the_tests_of_pages_and_other_files_to_those_that_name_them():
    assert nearest_tests(["docs/design/journal.md"], FILES, FOLDERS) == ["tests/project/test_docs_links.py"]
    assert nearest_tests(["conf/schema.json"], FILES, FOLDERS) == ["tests/project/test_schema.py"]


def test_a_module_that_nothing_imports_is_tested_by_the_folder_of_its_name():
    assert nearest_tests(["pack/core/lonely.py"], FILES, ["tests/core/planner"]) == [
        "tests/core/planner/test_gates.py",
        "tests/core/planner/test_plan.py",
    ]
