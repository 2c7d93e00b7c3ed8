"""The Merkle trees that commitments are made of."""
