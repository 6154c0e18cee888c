"""`python -m icore_kernel` is `icore`."""

from icore_kernel.cli import main

main()
