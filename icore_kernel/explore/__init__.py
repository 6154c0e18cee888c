"""Exploration: breadth-first search of the reachable states of a grounded system (design 4, Exploration)."""
