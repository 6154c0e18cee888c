"""Questions that a solver answers for every state, reachable or not."""
