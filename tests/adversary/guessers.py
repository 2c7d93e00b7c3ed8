"""What an attacker would write to read a card that was never shown, from what everybody sees.

Against the protocol's text alone, with the naive reference: nothing is shared with what is
attacked. A guesser always guesses; where nothing that it tries fits, it takes one of the cards
that are left by a coin.
"""

from collections.abc import Callable, Iterator
from itertools import permutations

from tests.adversary.public import KNOWN_KEY, Public
from tests.reference import naive

Guesser = Callable[[Public, int], int]


def by_coin(public, place):
    """One of the cards that are left, whatever is known."""
    number = int.from_bytes(naive.sha256(b"coin" + public.O + naive.u32(place)), "big")
    return public.left[number % len(public.left)]


# --- salts that somebody might try --------------------------------------------------------


def keys(public) -> list[bytes]:
    """What K might be."""
    return [KNOWN_KEY, b"", public.X, naive.sha256(public.X), *public.strings()]


def salts(public: Public, leaf: int) -> Iterator[bytes]:
    """What the salt of a leaf might be, always in the same order."""
    yield from (b"", bytes(32), *public.strings())
    for card in public.shown:
        yield from (naive.sha256(card.salt), card.salt[::-1], naive.sha512(card.salt)[32:])
    for K in keys(public):
        yield naive.salt(public.X, K, leaf)


def leaf_hash(public, i, item, salt):
    leaf = naive.LP(b"entropyd/card/v1") + naive.LP(public.X) + naive.u32(i) + naive.u32(item)
    return naive.leaf_hash(leaf + salt)


def node(left, right):
    return naive.sha256(b"\x01" + left + right)


# --- guessers -----------------------------------------------------------------------------


def by_leaf(public, place):
    """Hash each card with each salt, and compare with the sibling in a shown card's path."""
    target = public.cut[place]
    known = {card.path[0] for card in public.shown if card.leaf_index == target ^ 1}
    for salt in salts(public, target):
        for item in public.left:
            if leaf_hash(public, target, item, salt) in known:
                return item
    return by_coin(public, place)


def by_pair(public, place):
    """The same for two hidden leaves under a node of a shown card's path."""
    target = public.cut[place]
    first = target & ~1
    known = {card.path[1] for card in public.shown if card.leaf_index ^ target in {2, 3}}
    for salt, sibling in zip(salts(public, first), salts(public, first + 1), strict=True):
        lefts = {item: leaf_hash(public, first, item, salt) for item in public.left}
        rights = {item: leaf_hash(public, first + 1, item, sibling) for item in public.left}
        for left, right in permutations(public.left, 2):
            if node(lefts[left], rights[right]) in known:
                return left if target == first else right
    return by_coin(public, place)


def orders(public) -> Iterator[list[int]]:
    """Every order of the deck that agrees with the cards shown."""
    at = {card.leaf_index: card.item for card in public.shown}
    hidden = [i for i in range(public.n) if i not in at]
    for rest in permutations(public.left):
        found = at | dict(zip(hidden, rest, strict=True))
        yield [found[i] for i in range(public.n)]


def by_root(public, place):
    """Compare the root of every possible deck, under every key, with D."""
    for K in keys(public):
        of_leaf = [
            [leaf_hash(public, i, item, naive.salt(public.X, K, i)) for item in range(public.n)]
            for i in range(public.n)
        ]
        for items in orders(public):
            if root_of([of_leaf[i][item] for i, item in enumerate(items)]) == public.D:
                return items[public.cut[place]]
    return by_coin(public, place)


def root_of(hashes):
    """The root over six leaf hashes: four under one node, and two."""
    a, b, c, d, e, f = hashes
    return node(node(node(a, b), node(c, d)), node(e, f))


def by_whole_deck(public, place):
    """The same where D is of the whole deck."""
    for K in keys(public):
        for items in orders(public):
            if naive.deck_root_whole(public.X, K, items) == public.whole:
                return items[public.cut[place]]
    return by_coin(public, place)


def by_seed(public, place):
    """Draw the deck from every seed that could have been guessed, C, O and the time among them.

    Shown cards tell which one it was.
    """
    strings = [*public.strings(), public.X, *(naive.u64(public.time_ms - ms) for ms in range(50))]
    for string in [b"", *strings]:
        items = naive.shuffle(public.n, [naive.sha512(string)], public.X, "masked")
        if all(items[card.leaf_index] == card.item for card in public.shown):
            return items[public.cut[place]]
    return by_coin(public, place)


def by_commitment(public, place):
    """The same, where C itself tells: r is public, or one of the strings."""
    for string in [b"", *public.strings()]:
        seed = naive.sha512(string)
        for r in (bytes(32), *public.strings()):
            if naive.commitment_C(public.X, [seed], r) == public.C:
                return naive.shuffle(public.n, [seed], public.X, "masked")[public.cut[place]]
    return by_coin(public, place)


def by_position(public, place):
    """A new deck has a card for each leaf: perhaps nobody shuffled."""
    target = public.cut[place]
    return target if target in public.left else by_coin(public, place)
