"""The contract's asserts speak as clearly as those of the test modules."""

import pytest

pytest.register_assert_rewrite("tests.drivers.contract")
