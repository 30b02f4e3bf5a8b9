"""Settings fit to show: those that a search counts with, without what is secret."""

from collections.abc import Mapping
from typing import Any

from adapters.named import CREATION, RETRIEVAL
from bridge.settings import shown

KEPT = ("api_key",)
"""Settings that never leave for a browser."""
ADDRESS = "api_base_url"


def public(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without the key, the query string of their address hidden."""
    told = {name: value for name, value in settings.items() if name not in KEPT}
    if ADDRESS in told:
        told[ADDRESS] = shown(told[ADDRESS])
    return told


def counted(creation: Mapping[str, Any], retrieval: Mapping[str, Any]) -> dict[str, Any]:
    """What a search was made with. What is blank, or added by the caller (who asked, by which bot), isn't among it."""
    given = {name: value for name, value in creation.items() if name in CREATION and value not in _UNSET}
    return public(given) | retrieving(retrieval)


def retrieving(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of how to search among these."""
    return {name: value for name, value in settings.items() if name in RETRIEVAL and value not in _UNSET}


_UNSET = (None, "")
