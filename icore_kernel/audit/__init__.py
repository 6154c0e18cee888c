"""The audit loop of section 5 and A.10: every commit decided by the solver, everything recorded."""
