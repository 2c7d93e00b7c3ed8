"""Figures: what the daemon does, measured beside a yardstick in the same run.

Nothing here asserts on time and nothing here is a test. A machine that others
use too gives absolute figures that move by half, so each row measures two
things in turns and reports their ratio, and the CPU time of a request, which
hardly moves. Medians throughout.

    python -m bench             every row, about 25 minutes
    python -m bench closed      one row
    python -m bench --quick     every row, short: to see that they run
    python -m bench open --minutes 10
    python -m bench draws       draws, raffles and rounds, 3 minutes
    python -m bench lesson      bad shuffles, caught: see bench/lesson

The row many compares with a C++ server, which it builds if Debian's g++ and libgrpc++-dev are
there (bench/peer).

The row ledger-size makes a ledger of ten million hands the first time: 11 GB in build/ledgers, ten
minutes more.

`random` is used here alone, for arrival times and for which hand is looked up; nothing is dealt
from it.
"""
