"""Query parameters of the API: how they are read, and their schemas in `/openapi.json`."""

import math
import re
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from prime_cli.core.errors import UsageError

_TRUE = frozenset({"true", "1", "yes"})
_LONGEST = 1000
_REAL_NUMBER = re.compile(r"[-+]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][-+]?[0-9]{1,4})?")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class Text:
    """A text, at most `longest` characters; empty is as left out."""

    name: str
    help: str
    choices: tuple[str, ...] = ()
    longest: int = _LONGEST

    def read(self, request: Request) -> str | None:
        """The text, or None; raises UsageError."""
        text = request.query_params.get(self.name)
        return self.check(text) if text else None

    def check(self, text: str) -> str:
        """`text`, if it may stand here; raises UsageError."""
        if len(text) > self.longest:
            raise UsageError(
                f"`{self.name}` has more than {self.longest} characters", param=self.name
            )
        if self.choices and text not in self.choices:
            raise UsageError(
                f"`{text[:80]}` is not a value of `{self.name}`",
                hint=f"write one of {', '.join(self.choices)}",
                param=self.name,
            )
        return text

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of one value."""
        bounds = {"enum": list(self.choices)} if self.choices else {"maxLength": self.longest}
        return {"type": "string", **bounds}


@dataclass(frozen=True)
class Texts:
    """A text that may be given several times; all of them count."""

    each: Text
    most: int = 50

    @property
    def name(self) -> str:
        """The name of every one."""
        return self.each.name

    @property
    def help(self) -> str:
        """What the texts are for."""
        return self.each.help

    def read(self, request: Request) -> tuple[str, ...]:
        """The texts in their order; raises UsageError."""
        texts = request.query_params.getlist(self.name)
        if len(texts) > self.most:
            raise UsageError(f"`{self.name}` is given more than {self.most} times", param=self.name)
        return tuple(self.each.check(text) for text in texts)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of all values."""
        return {"type": "array", "items": self.each.schema(), "maxItems": self.most}


@dataclass(frozen=True)
class Flag:
    """Yes or no. Python clients also write `True`; what is not yes is no."""

    name: str
    help: str

    def read(self, request: Request) -> bool:
        """Whether it is yes."""
        return request.query_params.get(self.name, "").lower() in _TRUE

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value."""
        return {"type": "boolean", "default": False}


@dataclass(frozen=True)
class Number:
    """A whole number between `least` and `most`."""

    name: str
    help: str
    default: int
    least: int
    most: int
    hint: str | None = None
    """What to do instead of asking for more."""

    def read(self, request: Request) -> int:
        """The number; raises UsageError."""
        text = request.query_params.get(self.name)
        if text is None:
            return self.default
        number = int(text) if _WHOLE_NUMBER.fullmatch(text) else None
        if number is None or not self.least <= number <= self.most:
            raise UsageError(
                f"`{self.name}` must be a whole number from {self.least} to {self.most}, "
                f"not `{text[:80]}`",
                hint=self.hint,
                param=self.name,
            )
        return number

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value."""
        return {
            "type": "integer",
            "default": self.default,
            "minimum": self.least,
            "maximum": self.most,
        }


@dataclass(frozen=True)
class Real:
    """A number that may have a fraction; left out, there is none."""

    name: str
    help: str

    def read(self, request: Request) -> float | None:
        """The number, or None; raises UsageError."""
        text = request.query_params.get(self.name)
        if not text:
            return None
        if not _REAL_NUMBER.fullmatch(text) or not math.isfinite(float(text)):
            raise UsageError(
                f"`{self.name}` must be a finite number, not `{text[:80]}`", param=self.name
            )
        return float(text)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value."""
        return {"type": "number"}


Parameter = Text | Texts | Flag | Number | Real
