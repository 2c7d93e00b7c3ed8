"""Every table is served by the node that names it, and by no other."""

import pytest

from entropyd.errors import WrongNodeError
from entropyd.runtime.served_tables import ServedTables

TABLES = ("dc1/t1", "dc1/", "dc1", "dc10/t1", "dc2/t1", "main", "mai", "main2", "*")


@pytest.mark.parametrize(
    ("patterns", "served"),
    [
        (("*",), set(TABLES)),
        (("dc1/*",), {"dc1/t1", "dc1/"}),
        (("dc1*",), {"dc1/t1", "dc1/", "dc1", "dc10/t1"}),
        (("main",), {"main"}),
        (("dc2/*", "main"), {"dc2/t1", "main"}),
        (("none",), set()),
    ],
)
def test_what_is_served(patterns, served):
    tables = ServedTables(patterns)
    for table in TABLES:
        if table in served:
            tables.require(table)
        else:
            with pytest.raises(WrongNodeError, match="is not served by this node") as error:
                tables.require(table)
            assert repr(table) in str(error.value)


def test_all_tables_are_served_by_default():
    for table in TABLES:
        ServedTables().require(table)
