"""The record: entries in a hash chain, in a file, a database or memory; sealed at its end, and signed where a key is given."""

from icore_kernel.record.canonical import CanonicalError, canonical, parse
from icore_kernel.record.chain import Chain, ChainReport, check_chain
from icore_kernel.record.entry import FORMAT, ZERO, BrokenRecord, BusyRecord, Entry, RecordError, SealedRecord, make
from icore_kernel.record.store import Store, open_store, read_entries, read_lines

__all__ = [
    "FORMAT",
    "ZERO",
    "BrokenRecord",
    "BusyRecord",
    "CanonicalError",
    "Chain",
    "ChainReport",
    "Entry",
    "RecordError",
    "SealedRecord",
    "Store",
    "canonical",
    "check_chain",
    "make",
    "open_store",
    "parse",
    "read_entries",
    "read_lines",
]
