"""A failed assertion in a suite tells its values, as one in a test file does."""

import pytest

pytest.register_assert_rewrite(
    "tests.contract.ledger", "tests.contract.steps", "tests.contract.log"
)
