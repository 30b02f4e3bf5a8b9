"""The plugin object: it holds what all its engines and pages share."""

from langbot_plugin.api.definition.plugin import BasePlugin
from langbot_plugin.entities.io.context import InstallationBinding

from adapters import Access, Network, Pool
from console.connections import Connections
from console.drafts import Drafts
from console.journal import Journal
from console.trials import Trials
from console.usage import Usage
from console.watch import Watches


class KnowledgeBridge(BasePlugin):
    """Searches knowledge where it already lives. One object can serve many installations at once."""

    pool: Pool
    connections: Connections
    journal: Journal
    usage: Usage
    trials: Trials
    watches: Watches
    drafts: Drafts
    takes_connections: bool = False
    """Whether this package's engine lets a knowledge base name a connection."""

    async def initialize(self) -> None:
        """Open the connection pool; nothing is connected yet, but the first query has nothing left to load."""
        self.pool = Pool()
        await self.pool.warm_up()
        self.connections = Connections()
        self.journal = Journal()
        self.usage = Usage()
        self.trials = Trials()
        self.watches = Watches()
        self.drafts = Drafts()

    @property
    def tenant(self) -> str:
        """The calling installation's id; empty in a worker of its own."""
        binding = self.get_installation_binding()  # type: ignore[no-untyped-call]
        return binding.installation_uuid if binding else ""

    def access(self) -> Access:
        """The pool as the calling installation uses it; SettingsError for a plugin configuration that can't be used."""
        return Access(self.pool, Network.of(self.get_config()), self.tenant)

    async def on_installation_revoked(self, binding: InstallationBinding) -> None:
        """Drop what is remembered for an installation that is gone."""
        remembering = (
            self.pool,
            self.connections,
            self.journal,
            self.usage,
            self.trials,
            self.watches,
            self.drafts,
        )
        for one in remembering:
            one.forget(binding.installation_uuid)

    async def close(self) -> None:
        """Close every connection. The runtime ends the process instead; tests and tools call this."""
        await self.connections.close()
        await self.usage.close()
        await self.pool.close()
