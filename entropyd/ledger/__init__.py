"""How results are kept: the contract, and SQLite."""
