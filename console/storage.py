"""The host's storage of the plugin: small values under keys, one installation's."""

from collections.abc import Awaitable
from typing import Any, Protocol, TypeVar

from bridge.errors import BridgeError

NO_STORAGE = "Check LangBot's database and log; where its SQLAlchemy is 2.1 or newer, install sqlalchemy<2.1"
Value = TypeVar("Value")


class Storage(Protocol):
    """The host's storage of one installation's plugin, as the SDK's plugin object offers it. Every call may raise."""

    @property
    def tenant(self) -> str:
        """Whose storage it is."""

    async def set_plugin_storage(self, key: str, value: bytes) -> None: ...
    async def get_plugin_storage(self, key: str) -> bytes: ...
    async def get_plugin_storage_keys(self) -> list[str]: ...
    async def delete_plugin_storage(self, key: str) -> None: ...


class StorageError(BridgeError):
    """The host's storage can't be read or written, or holds what nobody can read."""


async def stored(request: Awaitable[Value], what: str) -> Value:
    """What the storage answers; StorageError that says `what` could not be done."""
    try:
        return await request
    except Exception:  # noqa: BLE001 - the host's faults come as many classes, and with its internals in their texts
        raise StorageError(f"the plugin's storage failed: nothing could be {what}", NO_STORAGE) from None


async def names(storage: Storage, prefix: str) -> list[str]:
    """What stands behind a prefix in the storage's keys, sorted."""
    keys: list[Any] = await stored(storage.get_plugin_storage_keys(), "listed")
    return sorted(key.removeprefix(prefix) for key in keys if key.startswith(prefix))
