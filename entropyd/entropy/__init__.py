"""How bits come in: noise sources, health tests, assessment, reservoir, user entropy, gate."""
