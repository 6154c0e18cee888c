"""The mutation run over spec/: every clause negated, dropped or weakened must be caught by some test. `python -m proofs_tests.mutation`."""
