"""`icore fmt` and `icore init`: text in, text out; nothing of the engine is needed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import click

from icore_kernel.verdict import ExitStatus

_STARTER = Path(__file__).with_name("starter.icore")
_STARTER_NAME = "Starter"


def format_files(files: tuple[Path, ...], only_check: bool, diff: bool = False) -> ExitStatus:
    """Format each file in place, or say which ones are not formatted, or what would change (`diff`). A file with mistakes in its syntax
    is left as it is."""
    from icore_dsl.format import format_text
    from icore_dsl.mistakes import LanguageError, render
    from icore_dsl.source import read_source

    wrong = unformatted = False
    for path in files:
        try:
            text = read_source(path)
            formatted = format_text(text, str(path))
            before = path.read_bytes()
            changed = formatted.encode() != before
            if changed and not (only_check or diff):
                _replace(path, formatted)
        except LanguageError as mistaken:
            wrong = True
            click.echo("\n\n".join(render(mistake, mistaken.text) for mistake in mistaken.mistakes), err=True)
            continue
        except OSError as failed:
            wrong = True
            click.echo(f"{path}: {failed.strerror or failed}", err=True)
            continue
        if changed:
            unformatted = True
            if diff:
                _show_diff(path, before.decode(), formatted)
            else:
                click.echo(f"{path}: {'not formatted' if only_check else 'formatted'}")
    if wrong:
        return ExitStatus.BAD_INPUT
    return ExitStatus.VIOLATED if unformatted and (only_check or diff) else ExitStatus.HOLDS


def _show_diff(path: Path, before: str, after: str) -> None:
    from icore_kernel.report import paint
    from icore_kernel.report.diff import diff_lines, diff_text

    diff = diff_text(str(path), before, after)
    if paint.coloured(sys.stdout):
        paint.write(diff_lines(diff), sys.stdout)
    else:
        click.echo(diff.encode(errors="surrogateescape"), nl=False)  # as it is: white space at the ends of lines is what may change


def _replace(path: Path, text: str) -> None:
    """Write the whole new text beside the file, then put it in its place: an interrupted write loses nothing."""
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        beside.write_bytes(text.encode())
        beside.chmod(target.stat().st_mode)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def write_starter(name: str) -> ExitStatus:
    """Write `NAME.icore` in the current folder; the package in it is called after it (`release_pipeline`: ReleasePipeline)."""
    stem = name.removesuffix(".icore")
    words = [word for word in re.split(r"[\W_]+", Path(stem).name) if word]
    package = "".join(word[0].upper() + word[1:] for word in words)
    if not package or not package[0].isalpha():
        click.echo(f"{name}: a name that begins with a letter is expected", err=True)
        return ExitStatus.BAD_INPUT
    path = Path(f"{stem}.icore")
    text = _STARTER.read_text(encoding="utf-8").replace(f"package {_STARTER_NAME} ", f"package {package} ", 1)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as new:
            new.write(text)
    except FileExistsError:
        click.echo(f"{path}: exists already and was left as it is", err=True)
        return ExitStatus.BAD_INPUT
    except OSError as failed:
        click.echo(f"{path}: cannot be written: {failed.strerror or failed}", err=True)
        return ExitStatus.BAD_INPUT
    click.echo(f"wrote {path}; next: icore check {path}")
    return ExitStatus.HOLDS
