"""Induced failures: samples that make a health test fire, as scripts, and who carries them out.

The scripts, one file a test and severity, are data of this package, so that
`entropyd selftest` can show on an installed daemon what the tests show at
development: each test fires where its file says, and is alive afterwards.
README.md describes their language.
"""
