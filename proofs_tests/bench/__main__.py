"""`python -m proofs_tests.bench` from the checkout: the same as `python proofs_tests/bench/run.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from run import main

main()
