"""Stable ids in the shapes that the services use, derived from names."""

import hashlib
import uuid


def uuid_of(*names: str) -> str:
    """Return the hyphenated UUID that always belongs to these names."""
    return str(uuid.UUID(bytes=_digest(names)[:16], version=4))


def hex32_of(*names: str) -> str:
    """Return the 32 hex digits that always belong to these names."""
    return _digest(names).hex()[:32]


def hex24_of(*names: str) -> str:
    """Return the 24 hex digits that always belong to these names."""
    return _digest(names).hex()[:24]


def _digest(names: tuple[str, ...]) -> bytes:
    return hashlib.sha256("\0".join(names).encode()).digest()
