"""The settings that an error's text names: the texts say them as they are called in the code."""

import re

from adapters import BACKENDS
from bridge.errors import AuthError, BridgeError

CREATION = frozenset(name for kind in BACKENDS.values() for name in kind.model_fields) - {"options"}
"""Settings that a knowledge base is created with, of any service."""
RETRIEVAL = frozenset(
    name for kind in BACKENDS.values() for name in type(kind.model_fields["options"].default).model_fields
)
"""Settings of how to search, of any service."""
_IN_BRACKETS = r"\((?:\d{3}: |keys: )[^)]*\)"
_NAMES = "|".join(sorted(name for name in CREATION | RETRIEVAL if "_" in name))
_WORDS = "|".join(sorted({"filters", *(name for name in CREATION | RETRIEVAL if "_" not in name)}))
_BEFORE = "^|(?<=: )|(?<=; )|(?<=raise )|(?<=[Ss]witch )|(?<=with )"
NAMED = re.compile(rf"{_IN_BRACKETS}|(?<![\w-])(?:{_NAMES})(?!\w)|(?:{_BEFORE})(?:{_WORDS})(?=[ :.])")
"""Settings in a text: those with an underscore anywhere, single words only where they can be nothing else.

What a service said (in brackets) is found as a whole, since its words are its own.
"""


def fields_of(error: BridgeError) -> list[str]:
    """The settings that an error is about: those that it says are wrong, else those that it says to look at."""
    found = _in(error.happened) or _in(error.remedy)
    return found or (["api_key"] if isinstance(error, AuthError) else [])


def _in(text: str) -> list[str]:
    return [name for name in dict.fromkeys(NAMED.findall(text)) if not name.startswith("(")]
