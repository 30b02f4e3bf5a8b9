"""The plugin object as the console needs it."""

from typing import Any, Protocol

from adapters import Access
from console.connections import Connections
from console.drafts import Drafts
from console.journal import Journal
from console.storage import Storage
from console.trials import Trials
from console.usage import Usage
from console.watch import Watches

Answer = dict[str, Any]


class Plugin(Storage, Protocol):
    """What the plugin holds, and what the host answers."""

    connections: Connections
    journal: Journal
    usage: Usage
    trials: Trials
    watches: Watches
    drafts: Drafts
    takes_connections: bool

    def access(self) -> Access:
        """The pool as the calling installation uses it; SettingsError for a configuration that can't be used."""

    async def list_knowledge_bases(self) -> list[dict[str, Any]]:
        """Every knowledge base of the host: uuid, name and more."""

    async def retrieve_knowledge(
        self, kb_id: str, query_text: str, top_k: int = 5, filters: dict[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """A search through the host, as a pipeline makes it."""
