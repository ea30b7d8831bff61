"""`sparkassets impact`: the tree and the document of what follows."""

import pytest

pytestmark = pytest.mark.usefixtures("shop", "engine")


def test_the_tree(run_cli):
    code, out, err = run_cli("impact", "orders", "--partition", "2025-03-01", "--partition", "2025-03-03")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "orders 2025-03-01, 2025-03-03",
        "└─ daily_revenue 2025-03-01, 2025-03-03: 2 partitions, 0 of them computed",
        "   └─ best_shops: not computed yet",
    ]
    assert run_cli("impact", "best_shops")[1] == "best_shops\n└─ nothing reads it\n"


def test_the_document(run_json):
    assert run_json("impact", "orders", "--partition", "2025-03-01") == {
        "asset": "orders",
        "partitions": {"ranges": ["2025-03-01..2025-03-01"], "count": 1},
        "downstream": [
            {
                "asset": "daily_revenue",
                "partitions": {"ranges": ["2025-03-01..2025-03-01"], "count": 1},
                "computed": {"ranges": [], "count": 0},
                "through": ["orders"],
                "rerun": True,
                "why": None,
            },
            {
                "asset": "best_shops",
                "partitions": None,
                "computed": None,
                "through": ["daily_revenue"],
                "rerun": True,
                "why": None,
            },
        ],
    }


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("orders",), "asset 'orders' has partitions: name them by --partition A..B"),
        (("orders", "--partition", "March"), "'March'"),
        (("best_shops", "--partition", "2025-03-01"), "asset 'best_shops' has no partitions"),
        (("order", "--partition", "2025-03-01"), "did you mean 'orders'?"),
    ],
)
def test_what_is_refused(run_cli, args, told):
    code, out, err = run_cli("impact", *args)
    assert (code, out) == (2, "")
    assert told in err
