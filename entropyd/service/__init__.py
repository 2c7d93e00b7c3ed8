"""How results are served: servicers, identity, error table."""

import os

# Read by gRPC when it is first imported, and nothing of the daemon imports it before this package.
# Below ERROR it writes a line past our log for each handshake that fails: strangers could fill it.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
