"""How results are served: servicers, identity, error table."""
