"""How much memory this process takes, and sizes as people write them. Units are decimal: 1 MB = 10**6 bytes."""

from __future__ import annotations

import re
import sys

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def resident() -> int:
    """Bytes of this process that are in memory now; where the system does not tell, the most so far."""
    try:
        with open("/proc/self/statm", "rb") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return peak()
    return pages * _page()


def anonymous() -> int:
    """Bytes of memory of its own: without what is a file's, which the system can write out and read again."""
    try:
        with open("/proc/self/statm", "rb") as file:
            _, pages, shared, *_ = map(int, file.read().split())
    except OSError:
        return peak()
    return (pages - shared) * _page()


def available() -> int:
    """Bytes that may be taken before others, or this process, have to give up some; 0 where the system does not tell."""
    try:
        with open("/proc/meminfo", "rb") as file:
            facts = dict(line.split(b":", 1) for line in file)
        return min(1024 * int(facts[b"MemAvailable"].split()[0]), _left_to_the_group())
    except (OSError, KeyError, ValueError):
        return 0


def _left_to_the_group() -> int:
    """What a bound on a group of processes (a container) leaves; without one, more than there is."""
    try:
        with open("/sys/fs/cgroup/memory.max", "rb") as most, open("/sys/fs/cgroup/memory.current", "rb") as now:
            return max(0, int(most.read()) - int(now.read()))
    except (OSError, ValueError):
        return sys.maxsize


def _page() -> int:
    import resource

    return resource.getpagesize()


def peak() -> int:
    """The most bytes of this process that were in memory at a time; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    most = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    # Bytes on macOS, kibibytes elsewhere.
    return most if sys.platform == "darwin" else 1024 * most


def parse_size(text: str) -> int:
    """`300MB`, `1.5 GB`, `512MiB`, `1000000`: bytes. ValueError for anything else, and for less than one byte."""
    found = re.fullmatch(r"([0-9]+)(?:\.([0-9]+))?\s*([A-Z]*)", text.strip().upper())
    unit = UNITS.get(found[3] or "B") if found else None
    if found is None or unit is None:
        raise ValueError(f"{text!r} is not a size: write 300MB, 2GB, 512MiB")
    whole, fraction = found[1], found[2] or ""
    size = int(whole + fraction) * unit // int(10 ** len(fraction))
    if size < 1:
        raise ValueError(f"{text!r} is less than one byte")
    return size


def show_size(size: int) -> str:
    """`300 MB`, `1.5 GB`: at most one digit behind the point, exact where `parse_size` was given so much."""
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= UNITS[unit]:
            shown = f"{size / UNITS[unit]:.1f}".removesuffix(".0")
            return f"{shown} {'kB' if unit == 'KB' else unit}"
    return f"{size} B"
