"""A grounded system as a model of another checker: SPIN, TLC, NuSMV, Maude, rumur (design 4)."""
