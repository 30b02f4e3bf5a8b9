"""Whoever is called: what the transport needs to know, and who tells its answers apart."""

from typing import Any, Protocol

from pydantic import SecretStr

from bridge.errors import BridgeError
from bridge.http.reply import Reply


class Service(Protocol):
    """One service at one address, with one key."""

    @property
    def product(self) -> str:
        """The service's name, as its makers write it."""

    @property
    def api_base_url(self) -> str:
        """The address that paths are put behind."""

    @property
    def own_query(self) -> SecretStr:
        """The query string that belongs to every request, blank for none. It may be a password."""

    @property
    def api_key(self) -> SecretStr:
        """The key, blank for none."""

    @property
    def key_header(self) -> tuple[str, str]:
        """The header that carries the key, and what stands before the key in it."""

    @property
    def verify_tls(self) -> bool:
        """Whether the certificate is checked."""

    @property
    def timeout(self) -> float:
        """Seconds for everything that one retrieval does."""

    @property
    def resend(self) -> bool:
        """Whether a request that may have arrived can be sent again."""

    @property
    def version_header(self) -> str:
        """The response header, in small letters, in which the service tells its version; blank for none."""

    def accepts(self, reply: Reply) -> bool:
        """Whether the service says that it did what it was asked."""

    def words(self, data: Any) -> str:
        """What an answer says in words about a failure."""

    def failure(self, reply: Reply) -> BridgeError | None:
        """The error in the service's own terms for an answer that it doesn't accept; None leaves it to the status."""

    def resembled(self, data: Any) -> str:
        """Another service whose form an answer has, empty for none."""
