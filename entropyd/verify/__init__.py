"""What anyone can recompute offline. Raises; never returns a verdict as a bool."""
