"""How this plugin reaches the network: settings of the plugin itself, editable at any time, read at every call."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, field_validator

from bridge.errors import SettingsError
from bridge.settings import problems_of
from bridge.values import finite

_WHERE = "Correct it in the plugin's configuration"


class Network(BaseModel):
    """Proxy, certificates and limits of one installation. Hashable: connections are shared where all of it is equal."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, str_strip_whitespace=True)

    proxy_url: SecretStr = SecretStr("")
    """http://[user:password@]host:port; blank is a direct connection. The environment's proxies never count."""
    ca_certificates: str = ""
    """PEM text of certificates trusted besides the usual ones."""
    max_connections: Annotated[int, Field(ge=1, le=64), BeforeValidator(lambda value: finite(value) or 16)] = 16
    """Requests at once per address; no more than the places of a small server.

    Where it has fewer, nobody is starved but some wait a second: unused connections are closed to make room, and no
    lower limit is learnt, since a slow answer looks the same as a missing place.
    """
    pause_after_failures: bool = True
    """Whether an address that itself failed repeatedly is left alone, but for one call a second."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """Read the plugin's configuration; SettingsError names the setting that can't be used."""
        if not config:
            return cls._usual()
        given = {name: value for name, value in config.items() if value is not None and value != ""}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise SettingsError(problems_of(error), _WHERE).at("Plugin configuration") from None

    @classmethod
    @cache
    def _usual(cls) -> Self:
        return cls()

    @field_validator("proxy_url")
    @classmethod
    def _proxy(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value().strip()
        try:
            parts = urlsplit(text)
            good = not text or (parts.scheme in ("http", "https") and parts.hostname and (parts.port or True))
        except ValueError:
            good = False
        if not good:
            raise ValueError("must look like http://host:port or http://user:password@host:port")
        return SecretStr(text)
