"""`icore step`: a run taken by hand, one command a line, from a terminal or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TextIO

import click

from icore_kernel.cli_check import Wrong, answer, refuse
from icore_kernel.report import paint
from icore_kernel.report.layout import Line, Part, Piece, line, number
from icore_kernel.verdict import ExitStatus

if TYPE_CHECKING:
    from icore_kernel.stepping import Walk

_PROMPT = "> "


def step_file(path: Path, settings: Mapping[str, str], theory: Path | None) -> ExitStatus:
    """Carry out commands until there are no more. 0; 2 for wrong input, also a command of a pipe that cannot be carried out."""
    from icore_kernel import api
    from icore_kernel.stepping import StepError, Walk

    try:
        loaded = answer(path, lambda: api.load(path, settings=settings, theory=theory))
        walk = Walk(loaded, theory)
    except StepError as wrong:
        return refuse(Wrong(f"{path}: {wrong}"), path, None)
    except Wrong as wrong:
        return refuse(wrong, path, None)
    session = Session(walk)
    stdin = sys.stdin
    terminal = stdin is not None and stdin.isatty() and sys.stdout.isatty()
    _print([line(Piece(f"{loaded.system.name} {loaded.system.version}".rstrip(), Part.STRONG), " · ? lists the commands"), line()])
    session.show()
    if stdin is None:
        return ExitStatus.HOLDS
    return _from_terminal(session) if terminal else _from_pipe(session, stdin)


def _from_terminal(session: Session) -> ExitStatus:
    """Ctrl-D ends it; Ctrl-C clears the line, and twice in a row ends it; what is wrong is told, and nothing has changed."""
    _edit_lines(session)
    interrupted = False
    while True:
        try:
            text = input(_PROMPT)
            interrupted = False
            if not all(map(session.carry_out, text.split(";"))):
                return ExitStatus.HOLDS
        except EOFError:
            click.echo()
            return ExitStatus.HOLDS
        except KeyboardInterrupt:
            click.echo()
            if interrupted:
                return ExitStatus.HOLDS
            interrupted = True
        except Unable as wrong:
            _print([*wrong.lines, line()])
        except UnicodeDecodeError:
            click.echo("  not UTF-8", err=True)


def _edit_lines(session: Session) -> None:
    """Lines can be edited and called up again, and Tab completes names, where Python was built with it."""
    try:
        import readline
    except ImportError:
        return

    def completed(text: str, place: int) -> str | None:
        found = session.completions(text)
        return found[place] if place < len(found) else None

    readline.set_auto_history(True)
    readline.set_completer(completed)
    readline.set_completer_delims(";")
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")


def _from_pipe(session: Session, lines: TextIO) -> ExitStatus:
    """Nothing after a command that could not be carried out is: it would be about another state than was meant."""
    try:
        for count, text in enumerate(lines, start=1):
            for command in text.split(";"):
                try:
                    if not session.carry_out(command):
                        return ExitStatus.HOLDS
                except Unable as wrong:
                    sys.stdout.flush()
                    click.echo(f"line {count}, {command.strip()}:", err=True)
                    paint.write(wrong.lines, sys.stderr)
                    return ExitStatus.BAD_INPUT
            sys.stdout.flush()
    except UnicodeDecodeError:
        click.echo("the commands are not UTF-8", err=True)
        return ExitStatus.BAD_INPUT
    return ExitStatus.HOLDS


class Unable(Exception):
    """A command that cannot be carried out, and why, for a person."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = tuple(lines)
        super().__init__()


class Session:
    """Commands and what they print."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.view = walk.view()

    def show(self) -> None:
        from icore_kernel.report.step import view_lines

        _print([*view_lines(self.view, _room()), line()])

    def completions(self, text: str) -> list[str]:
        """What a command that begins so may be: an update that occurs here, or `s` and a field."""
        lead = text[: len(text) - len(text.lstrip())]
        begun = text.lstrip()
        known = (
            [f"s {name}" for name, _ in self.walk.fields()]
            if begun.startswith("s ")
            else [offer.step.update for offer in (*self.view.offered, *self.view.refused)]
        )
        return [lead + name for name in known if name.startswith(begun)]

    def carry_out(self, command: str) -> bool:
        """One command. False where it is the last one. Raises Unable."""
        from icore_kernel.report.step import error_lines
        from icore_kernel.stepping import StepError

        word, _, rest = command.strip().partition(" ")
        rest = rest.strip()
        if any("\ud800" <= character <= "\udfff" for character in command):  # bytes that are none arrive so, in some locales
            raise Unable([line("  not UTF-8")])
        try:
            match word:
                case "q" | "quit" | "exit" if not rest:
                    return False
                case "?" | "h" | "help":
                    from icore_kernel.report.step import HELP

                    click.echo(HELP, nl=False)
                case "":
                    self.show()
                case "a" if not rest:
                    from icore_kernel.report.step import refused_lines

                    _print([*refused_lines(self.view, _room()), line()])
                case "b" if not rest:
                    self.walk.back()
                    self._moved()
                case "r":
                    self.walk.restart(_values(rest))
                    self._moved()
                case "s":
                    self._state(rest)
                case "p":
                    self._formula(rest)
                case "w":
                    self._save(rest)
                case _:
                    self.walk.take(self._number(command.strip()))
                    self._moved()
        except StepError as wrong:
            raise Unable(error_lines(wrong)) from wrong
        return True

    def _moved(self) -> None:
        self.view = self.walk.view()
        self.show()

    def _number(self, said: str) -> int:
        """The update that is meant: by its number in what is offered, or by its name."""
        from icore_kernel.stepping import StepError

        if said.isdecimal():
            count = len(self.view.offered)
            if not (len(said) < 10 and 1 <= int(said) <= count):
                raise StepError(f"there is no step {said}: {f'1 to {count} may follow' if count else 'nothing may follow'}")
            return self.view.offered[int(said) - 1].number
        return self.walk.named(said)

    def _state(self, name: str) -> None:
        from icore_kernel.report.step import field_lines

        _print([*field_lines(self.walk.fields_named(name)), line()])

    def _formula(self, formula: str) -> None:
        from icore_kernel.load import GOAL
        from icore_kernel.report.step import truth_lines
        from icore_kernel.stepping import StepError

        if not formula:
            raise StepError("p FORMULA: a formula is expected")
        if self.walk.is_value(formula):
            self._state(formula)
            return
        try:
            truth = answer(self.walk.loaded.path, lambda: self.walk.truth(formula))
        except Wrong as wrong:
            said = wrong.message.replace(f"the formula of {GOAL}", "the formula").replace(f"{GOAL}:", "formula:")
            raise Unable(line(f"  {text}" if text else "") for text in said.splitlines()) from wrong
        _print([*truth_lines(formula, truth, _room()), line()])

    def _save(self, place: str) -> None:
        from icore_kernel.cli_output import overwritten
        from icore_kernel.runs_io import save
        from icore_kernel.stepping import StepError

        if not place:
            raise StepError("w FILE: a file is expected")
        said = overwritten((Path(place),), (self.walk.loaded.path,), self.walk.theory)
        if said is not None:
            raise StepError(said)
        run = self.walk.saved()
        try:
            save(Path(place), run)
        except OSError as wrong:
            raise StepError(f"{place}: cannot be written: {wrong.strerror or wrong}") from wrong
        broken = f", which breaks {run.breaks}" if run.breaks else ""
        click.echo(f"  wrote {place}: {number(len(run.steps), 'step')}{broken}\n")


def _room() -> int:
    """Columns of a line."""
    from icore_kernel.report.step import ROOM

    return get_terminal_size().columns if sys.stdout.isatty() else ROOM


def _values(text: str) -> dict[str, str]:
    """`head.commit=2, mode=fast`: commas and white space separate them."""
    from icore_kernel.stepping import StepError

    found: dict[str, str] = {}
    for part in text.replace(",", " ").split():
        name, equals, value = part.partition("=")
        if not (name and equals and value):
            raise StepError(f"{part} is not FIELD=VALUE")
        found[name] = value
    return found


def _print(lines: Iterable[Line]) -> None:
    paint.write(lines, sys.stdout)
