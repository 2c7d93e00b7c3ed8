"""How results are drawn: keystream, samplers, segments, cards."""
