"""Reductions of the search: symmetry and partial order. Each says what it keeps, and is off where it would not."""
