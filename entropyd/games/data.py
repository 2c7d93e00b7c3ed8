"""The data files of the games, as texts.

A text is never changed, because rules name its hash: another reel or another
promise gets a new version beside the old one, and both stay readable.

Spec: docs/protocol.md, "Data files".
"""

from typing import Final

# Name and version -> the file.
DATA: Final[dict[str, str]] = {
    "blackjack-1": """\
deal=player,dealer,player,dealer
decks=6
game=blackjack
suits=d,h,s,c
values=2,3,4,5,6,7,8,9,10,11,12,13,14
version=1
""",
    "dice_poker-1": """\
dice=5
faces=6
game=dice_poker
hands=five_of_a_kind,four_of_a_kind,full_house,straight,three_of_a_kind,two_pairs,pair,high_die
order=bot,player
version=1
""",
    "mines-1": """\
columns=5
game=mines
tiles=20
version=1
""",
    "roulette-1": """\
black=2,4,6,8,10,11,13,15,17,20,22,24,26,28,29,31,33,35
game=roulette
green=0,37
pockets=38
red=1,3,5,7,9,12,14,16,18,19,21,23,25,27,30,32,34,36
version=1
""",
    "slots_cascade-1": """\
cluster=5
columns=5
game=slots
machine=cascade
pays=clover:7,horseshoe:9,coin:13,bell:24,ruby:40,crown:65,star:330
refills=64
rows=3
version=1
weights=clover:22,horseshoe:19,coin:17,bell:14,ruby:12,crown:10,star:6
""",
    "slots_classic-1": """\
draws=3
game=slots
lines=012
machine=classic
pays=cherry:500,lemon:1000,plum:2000,bell:5000,bar:15000,seven:250000
reel=seven,cherry,lemon,plum,cherry,bell,lemon,cherry,bar,plum,cherry,lemon,bell,cherry,plum,lemon,bar,cherry,bell,plum,lemon
version=1
""",
    "slots_high_roller-1": """\
draws=9
game=slots
lines=012,345,678,048,642
machine=high_roller
pays=chip:100,crown:200,diamond:400,bar:1500,bell:6000,seven:50000
reel=seven,chip,crown,diamond,chip,bar,crown,chip,diamond,bell,chip,crown,bar,chip,diamond,crown,chip,bell,diamond,crown,chip,bar,crown,diamond,chip
version=1
""",
    "slots_mini-1": """\
draws=3
game=slots
lines=012
machine=mini
pays=cherry:500,bell:1000,bar:2000,seven:18000
reel=seven,cherry,bell,cherry,bar,bell,cherry,bar,cherry,bell
version=1
""",
}
