"""The lesson: known bad ways to shuffle, a detector that catches them, and the attack of 1999.

Every bad way is data or a few lines that take a source of numbers, so that one description is
run on samples (`ways`), counted exactly over all its paths (`exact`) and judged (`detector`).
Nothing here is dealt from, and production code imports nothing of it.

    python -m bench lesson                      the table and the attack, always the same figures
    python -m bench lesson --fresh              the same on randomness of the operating system
    python -m bench lesson --figures docs/img   draws the figures of docs/why-fair.md too

What a fresh run may get wrong by chance is printed with it.
"""
