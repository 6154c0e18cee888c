"""The iCORE declaration language: grammar, parser, checker, formatter. It knows nothing of the kernel's engines."""
