"""The plugin object: it holds the connections that all its engines share."""

from langbot_plugin.api.definition.plugin import BasePlugin
from langbot_plugin.entities.io.context import InstallationBinding

from adapters import Access, Network, Pool


class KnowledgeBridge(BasePlugin):
    """Searches knowledge where it already lives. One object can serve many installations at once."""

    pool: Pool

    async def initialize(self) -> None:
        """Open the connection pool; nothing is connected yet."""
        self.pool = Pool()

    def access(self) -> Access:
        """The pool as the calling installation uses it; SettingsError for a plugin configuration that can't be used."""
        binding = self.get_installation_binding()  # type: ignore[no-untyped-call]
        return Access(self.pool, Network.of(self.get_config()), binding.installation_uuid if binding else "")

    async def on_installation_revoked(self, binding: InstallationBinding) -> None:
        """Drop what is remembered for an installation that is gone."""
        self.pool.forget(binding.installation_uuid)

    async def close(self) -> None:
        """Close every connection. The runtime ends the process instead; tests and tools call this."""
        await self.pool.close()
