"""How a hand is bound to its rules, committed and dealt."""
