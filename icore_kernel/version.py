"""The version of icore, once: the distribution, `icore --version` and every JSON report read it here."""

VERSION = "0.1.0"
