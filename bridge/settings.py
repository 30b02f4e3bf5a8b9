"""Settings as people and forms send them: addresses, keys, lists, numbers."""

import ipaddress
import re
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import BeforeValidator, SecretStr, ValidationError

from bridge.values import finite

HIDDEN = "…"
"""What stands for a query string that isn't shown."""


def without_unset(values: Any) -> Any:
    """Settings without blanks around; null and blank ones mean: not set."""
    if not isinstance(values, dict):
        return values
    trimmed = {name: value.strip() if isinstance(value, str) else value for name, value in values.items()}
    return {name: value for name, value in trimmed.items() if value is not None and value != ""}


def or_default(default: float) -> BeforeValidator:
    """A number field that was cleared arrives as 0."""
    return BeforeValidator(lambda value: finite(value) or default)


def _parts(value: Any) -> Any:
    """One or several texts, separated by commas, semicolons or line breaks."""
    if isinstance(value, str):
        value = re.split(r"[,，、;；\n]", value)
    if isinstance(value, (list, tuple)):
        return tuple(dict.fromkeys(part for part in (str(item).strip(" \t\r\"'`") for item in value) if part))
    return value


def _key(value: Any) -> Any:
    """The key alone, however it was copied."""
    if not isinstance(value, str):
        return value
    key = re.sub(r"(?i)^\s*(authorization\s*:)?\s*(bearer\s+)*", "", value.strip().strip("\"'`")).strip(" \t\r\n\"'`")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("holds characters that no key has; copy it again")
    if key and not key.strip("*"):
        raise ValueError("is a mask of stars, not the key; enter the key itself")
    return key


Texts = Annotated[tuple[str, ...], BeforeValidator(_parts)]
Key = Annotated[SecretStr, BeforeValidator(_key)]


def parsed(value: str) -> SplitResult:
    """A pasted address with its scheme; ValueError with what to type where it can't be read."""
    text = value.strip().strip("\"'`<>").strip()
    if "://" not in text:
        text = f"{_scheme(text)}://{text}"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or re.search(r"\s", text):
        raise ValueError("is no address; type it like https://host or http://host:port")
    if parts.scheme.lower() not in ("http", "https"):
        raise ValueError("must start with http:// or https://")
    if parts.query == HIDDEN:
        raise ValueError("hides what stands behind its question mark; enter it whole")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold a user name or password; the key has a field of its own")
    return parts


@lru_cache(maxsize=256)
def address(value: str, tail: str) -> str:
    """The base URL meant by a pasted address: no blanks, no closing slash, nothing that the pattern `tail` knows.

    `/.` at the end says that nothing of the path is a tail. ValueError with what to type where it can't be read.
    """
    parts = parsed(value)
    path = re.sub(r"/{2,}", "/", parts.path).rstrip("/")
    if path.endswith("/."):
        path = path[:-2]
    elif tail and (found := re.search(tail, path, re.IGNORECASE)):
        path = path[: found.start()]
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{path.rstrip('/')}"


def shown(value: Any) -> Any:
    """A stored address for a browser: its query string, which may be a password, is hidden."""
    place, mark, _ = value.partition("?") if isinstance(value, str) else (value, "", "")
    return f"{place}?{HIDDEN}" if mark else value


def whole(value: str) -> str:
    """A pasted address marked so that `address` takes nothing off it: what a check tries where the rest fails."""
    text = value.strip().strip("\"'`<>").strip().partition("#")[0]
    path, mark, rest = text.partition("?")
    return f"{path.rstrip('/').removesuffix('/.')}/.{mark}{rest}"


def _scheme(text: str) -> str:
    """Plain http for a machine's own name or a port of one's own, https for the rest."""
    host, _, port = text.partition("/")[0].partition(":")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "http" if "." not in host or port not in ("", "443") else "https"
    return "http"


def problems_of(error: ValidationError) -> str:
    """Pydantic's findings in words: each setting and what it may be, never its value."""
    problems = []
    for found in error.errors(include_url=False, include_context=False, include_input=False):
        name = next((str(part) for part in reversed(found["loc"]) if isinstance(part, str)), "")
        told = "is missing" if found["type"] == "missing" else found["msg"].removeprefix("Value error, ")
        problems.append(f"{'' if name == 'options' else name} {told[:1].lower()}{told[1:]}".strip())
    return "; ".join(problems[:3])
