"""Checkpoints of a search by blocks: what it would need to go on, in a folder of its own (schema `icore.checkpoint/1`).

The folder holds `checkpoint.json`, which is replaced as a whole, and the states in the order in which they were found, in
segments that are written once: a checkpoint writes only what is new since the one before. Whatever is written goes to a
temporary file, to the disk, and then to its name, so that a process killed at any moment leaves the last complete
checkpoint. Segments that `checkpoint.json` does not name are of a checkpoint that was not completed, and are overwritten.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from icore_kernel.explore.blocks import Words
from icore_kernel.explore.layout import lay_out
from icore_kernel.explore.model import Audited, CheckpointError, Checkpoints, Mode, Rules, Watchlist
from icore_kernel.system import System

SCHEMA = "icore.checkpoint/1"
MANIFEST = "checkpoint.json"
_OWN = re.compile(r"(?:states|infeasible)-[0-9]{6,}(?:\.part)?|checkpoint\.json\.part")
"""Names of the files that a search writes here, but for the manifest."""
_PIECE = 2**22
"""States to a write."""


class Part(Protocol):
    """States in a row: an array of shape (n, k), or what makes slices of one when asked."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> Words: ...


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment from which the search can go on: the lengths of the complete levels, how many states of the last one are
    expanded, how many states of the next one were found, and the counts."""

    levels: tuple[int, ...]
    begin: int
    rest: int
    tally: Mapping[str, Any]

    @property
    def total(self) -> int:
        return sum(self.levels) + self.rest


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A mark with its states. `words`: all of them in the order of discovery, shape (n, k); `levels` and `rest` are parts of it."""

    seed: int
    mark: Mark
    words: Words
    infeasible: Words
    levels: tuple[Words, ...]
    rest: Words


@dataclass
class Folder:
    """The folder of one search. `segments`: file, states, checksum, of what the newest checkpoint names."""

    path: Path
    engine: str
    identity: Mapping[str, str]
    words: int
    every: float
    resume: bool
    segments: list[tuple[str, int, int]] = field(default_factory=list)
    infeasible: tuple[str, int, int] | None = None
    number: int = 0
    written: float = field(default_factory=time.monotonic)
    pause: float = 0.0
    """Seconds from `written` until the next one is due."""

    @staticmethod
    def of(
        asked: Checkpoints, system: System, watchlist: Watchlist, rules: Rules, mode: Mode, engine: str = "numpy", more: int = 0
    ) -> Folder:
        """`more`: words that the engine keeps with each state, beyond its own. CheckpointError where a checkpoint is there already
        and is not to be resumed; OSError where the folder cannot be made."""
        asked.folder.mkdir(parents=True, exist_ok=True)
        if not asked.resume and (asked.folder / MANIFEST).exists():
            raise CheckpointError(f"{asked.folder} holds a checkpoint already: resume it, or name another folder")
        identity = {**dict(asked.facts), **identity_of(system, watchlist, rules, mode)}
        words = lay_out(system.fields).words + more
        return Folder(asked.folder, engine, identity, words, asked.every, asked.resume, pause=asked.every)

    def begun(self) -> Snapshot | None:
        """What is there to go on from. CheckpointError where it does not fit or is damaged; None for a search that begins."""
        if not self.resume:
            return None
        record = _read(self.path)
        if record["engine"] != self.engine:
            raise CheckpointError(f"{self.path}: the checkpoint was written by the engine {record['engine']}, this is {self.engine}")
        for name, value in self.identity.items():
            was = record["identity"].get(name)
            if was != value:
                raise CheckpointError(f"{self.path} is a checkpoint of another search: {name} was {was}, is {value}")
        self.number = record["number"]
        self.segments = [(name, count, checksum) for name, count, checksum in record["segments"]]
        kept = record["infeasible"]
        self.infeasible = None if kept is None else (kept[0], kept[1], kept[2])
        self._clear()
        mark = Mark(tuple(record["levels"]), record["begin"], record["rest"], record["tally"])
        words = self._load(self.segments)
        if len(words) != mark.total:
            raise CheckpointError(f"{self.path}: the checkpoint is damaged: {mark.total} states are expected, there are {len(words)}")
        ends = np.cumsum([0, *mark.levels])
        levels = tuple(words[begin:end] for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
        infeasible = self._load([] if self.infeasible is None else [self.infeasible])
        return Snapshot(record["seed"], mark, words, infeasible, levels, words[int(ends[-1]) :])

    def due(self) -> bool:
        """The first is written at once, the others after some seconds; a long one waits ten times as long as it took."""
        return not self.number or time.monotonic() - self.written >= self.pause

    def write(self, seed: int, mark: Mark, parts: Sequence[Part], infeasible: Sequence[Words]) -> None:
        """A checkpoint. `parts`: all states in the order of discovery, at least those of the mark; none of them has changed
        since the checkpoint before. CheckpointError where the disk is full."""
        begun = time.monotonic()
        try:
            self._write(seed, mark, parts, infeasible)
        except OSError as wrong:
            raise CheckpointError(f"{self.path}: the checkpoint cannot be written: {wrong.strerror or wrong}") from wrong
        self._clear()
        self.written = time.monotonic()
        # So that a slow disk costs at most a tenth of the time.
        self.pause = min(60.0, max(self.every, 10 * (self.written - begun))) if self.every else 0.0

    def _write(self, seed: int, mark: Mark, parts: Sequence[Part], infeasible: Sequence[Words]) -> None:
        self.number += 1
        known = sum(count for _, count, _ in self.segments)
        if mark.total > known:
            self.segments.append(self._segment(f"states-{self.number:06}", _between(parts, known, mark.total)))
        count = sum(map(len, infeasible))
        if count != (0 if self.infeasible is None else self.infeasible[1]):
            self.infeasible = self._segment(f"infeasible-{self.number:06}", infeasible)
        record = {
            "schema": SCHEMA,
            "engine": self.engine,
            "identity": dict(self.identity),
            "number": self.number,
            "seed": seed,
            "levels": mark.levels,
            "begin": mark.begin,
            "rest": mark.rest,
            "tally": mark.tally,
            "segments": self.segments,
            "infeasible": self.infeasible,
        }
        self._place(MANIFEST, [json.dumps(record).encode()])

    def forget(self) -> None:
        """The search begins again: the states found so far are in an order that will not come again."""
        self.segments, self.infeasible, self.number = [], None, 0
        (self.path / MANIFEST).unlink(missing_ok=True)
        self._clear()

    def _segment(self, name: str, parts: Sequence[Words]) -> tuple[str, int, int]:
        pieces = [
            np.ascontiguousarray(part[at : at + _PIECE], dtype="<u8").tobytes() for part in parts for at in range(0, len(part), _PIECE)
        ]
        checksum = 0
        for piece in pieces:
            checksum = zlib.crc32(piece, checksum)
        self._place(name, pieces)
        return name, sum(map(len, parts)), checksum

    def _place(self, name: str, pieces: Sequence[bytes]) -> None:
        """The file under its name, whole or not at all."""
        temporary = self.path / f"{name}.part"
        with open(temporary, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path / name)
        if os.name == "posix":
            folder = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _clear(self) -> None:
        """Remove what was written here and no checkpoint names any more; other files are let alone."""
        named = {name for name, _, _ in (*self.segments, *([self.infeasible] if self.infeasible else []))}
        for file in list(self.path.iterdir()):
            if _OWN.fullmatch(file.name) and file.name not in named:
                file.unlink(missing_ok=True)

    def _load(self, segments: Sequence[tuple[str, int, int]]) -> Words:
        words = np.zeros((sum(count for _, count, _ in segments), self.words), dtype=np.uint64)
        at = 0
        for name, count, checksum in segments:
            try:
                content = (self.path / name).read_bytes()
            except FileNotFoundError:
                raise CheckpointError(f"{self.path}: the checkpoint is damaged: {name} is missing") from None
            if len(content) != 8 * self.words * count or zlib.crc32(content) != checksum:
                raise CheckpointError(f"{self.path}: the checkpoint is damaged: {name} is not what was written")
            words[at : at + count] = np.frombuffer(content, dtype="<u8").reshape(count, self.words)
            at += count
        return words


def _read(path: Path) -> dict[str, Any]:
    try:
        record = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path} holds no checkpoint") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as wrong:
        raise CheckpointError(f"{path / MANIFEST} is not a checkpoint: {wrong}") from wrong
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise CheckpointError(f"{path / MANIFEST} is not a checkpoint of the schema {SCHEMA}")
    return record


def engine_of(path: Path) -> str:
    """Which engine wrote the checkpoint: only the same one can go on. CheckpointError where there is none."""
    return str(_read(path)["engine"])


def _between(parts: Sequence[Part], begin: int, end: int) -> list[Words]:
    """States begin..end-1 of the parts put one after the other."""
    found: list[Words] = []
    at = 0
    for part in parts:
        piece = part[max(0, begin - at) : max(0, end - at)]
        if len(piece):
            found.append(piece)
        at += len(part)
    return found


def identity_of(system: System, watchlist: Watchlist, rules: Rules, mode: Mode) -> dict[str, str]:
    """What two searches must agree on for one to go on where the other was. Bounds may differ."""
    if isinstance(mode, Audited):
        said = "audited"
    else:
        said = "unaudited" if mode.through is None else f"unaudited: {', '.join(sorted(mode.through))}"
    ids = [name for name, _ in (*watchlist.checks, *watchlist.seen)] + [measure.name for measure in watchlist.minimums]
    sizes = [len(watchlist.checks), len(watchlist.ends), len(watchlist.final), len(watchlist.outcomes)]
    asked = f"{ids} {sizes} {sorted(rules.stop_on)} {rules.keep_graph}"
    domains = [(one.name, one.domain.lo, one.domain.hi) for one in system.fields]
    return {
        "the package": system.name,
        "the text of the package": system.package_digest,
        "the theory": system.theory_digest,
        "the fields": _digest(f"{system.fields_digest} {domains}"),
        "the updates": _digest("\n".join(update.name for update in system.updates)),
        "the mode": said,
        "what is looked at": _digest(asked),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
