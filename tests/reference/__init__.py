"""A second, deliberately naive implementation of docs/protocol.md, and what is made from it."""
