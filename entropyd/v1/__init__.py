"""Generated from protos/; never edited. See protos/README.md."""
