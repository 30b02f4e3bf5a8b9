"""Who may call: a pool as one installation uses it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256

from bridge.errors import BridgeError
from bridge.http.call import Http
from bridge.http.network import Network
from bridge.http.pool import Pool
from bridge.http.privacy import Privacy
from bridge.http.retry import Watch
from bridge.http.service import Service


@dataclass(frozen=True, slots=True)
class Access:
    """A pool as one installation uses it: over its network, with a memory of its own."""

    pool: Pool
    network: Network = field(default_factory=Network)
    tenant: str = ""
    watch: Watch | None = None
    """Whom a further try of a request is told to."""

    @classmethod
    def to(cls, pool: "Pool | Access") -> "Access":
        """An access as it is; a pool over the usual network and for nobody in particular."""
        return pool if isinstance(pool, Access) else cls(pool)

    @asynccontextmanager
    async def open(self, service: Service, asked: str = "") -> AsyncIterator[Http]:
        """An Http for one retrieval. What runs inside ends within the service's timeout, or as UnavailableError.

        `asked` is kept out of every text, like the key. Answers that are kept belong to address, key and tenant; an
        address that fails is left alone for the tenant, as far as the network says so.
        """
        key = service.api_key.get_secret_value()
        own_query = service.own_query.get_secret_value()
        who = (self.tenant, sha256(f"{service.api_base_url}\0{own_query}\0{key}".encode()).digest())
        patience = self.pool.patience
        async with self.pool.lane(service, self.network) as lane:
            privacy, began = Privacy(key, asked, own_query), self.pool.clock()
            http = Http(self.pool, self.network, lane, service, privacy, who, began, watch=self.watch)
            name, heard = (self.tenant, service.api_base_url), lane.answers
            try:
                http.probe = self.network.pause_after_failures and patience.probing(name)
                try:
                    async with asyncio.timeout(service.timeout):
                        yield http
                except TimeoutError:
                    raise http.late() from None
            except BridgeError as error:
                http.doubt()
                if error.by_address:
                    patience.failed(name, error, http.started)
                raise http.placed(error) from None
            finally:
                if lane.answers != heard:  # anybody's: a call may be late because its dataset is slow
                    patience.answered(name)
