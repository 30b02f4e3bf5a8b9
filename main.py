"""The plugin object: it holds the connections that all its engines share."""

from langbot_plugin.api.definition.plugin import BasePlugin

from adapters import Pool


class KnowledgeBridge(BasePlugin):
    """Searches knowledge where it already lives. One object can serve many installations at once."""

    pool: Pool

    async def initialize(self) -> None:
        """Open the connection pool; nothing is connected yet."""
        self.pool = Pool()

    async def close(self) -> None:
        """Close every connection. The runtime ends the process instead; tests and tools call this."""
        await self.pool.close()
