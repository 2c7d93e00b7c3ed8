"""Dice, numbers, orders, cards, tiles, raffles and coins for people: `entropyctl roll 2d6`."""
