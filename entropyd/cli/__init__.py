"""The two commands: `entropyd` (the daemon) and `entropyctl` (its clients)."""
