"""What is drawn besides hands: draws of a match, raffles, and the rounds of seed pairs."""
