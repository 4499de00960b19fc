"""How the tests call the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from explorer.cli.app import run


@dataclass(frozen=True, slots=True)
class Result:
    """What one call of the command gave."""

    code: int
    out: str
    err: str

    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout, of a call that went well."""
        (line,) = self.lines()
        return line

    def lines(self) -> list[dict[str, Any]]:
        """The JSON lines on stdout, of a call that went well."""
        assert (self.code, self.err) == (0, "")
        return [json.loads(line) for line in self.out.splitlines()]

    def error(self) -> dict[str, Any]:
        """The one JSON object on stderr, of a call that failed and wrote nothing else."""
        assert self.code != 0
        assert self.out == ""
        (line,) = self.err.splitlines()
        found: dict[str, Any] = json.loads(line)
        return found


Call = Callable[..., Result]


@pytest.fixture
def cli(capsysbinary: pytest.CaptureFixture[bytes]) -> Call:
    def call(*arguments: object) -> Result:
        code = run([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        return Result(code, captured.out.decode(), captured.err.decode())

    return call
