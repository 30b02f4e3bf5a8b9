"""A form of the page that isn't saved yet, in memory: LangBot loads everything anew where its user changes the language."""

import json
import time
from collections.abc import Mapping
from typing import Any

from bridge.recent import Recent
from console.counted import public

DRAFTS = 256
LIMIT = 50_000
"""Characters of a form as JSON; a larger one isn't kept."""


class Drafts:
    """The last form of every installation, without its key and without what an address's query string holds."""

    def __init__(self) -> None:
        self._drafts: Recent[tuple[str], dict[str, Any]] = Recent(DRAFTS)

    def keep(self, tenant: str, draft: Any) -> None:
        """Keep a form (`values` are its settings), or drop the one that there is where this is none."""
        self._drafts.pop((tenant,), None)
        if isinstance(draft, Mapping) and len(json.dumps(draft)) <= LIMIT:
            values = draft.get("values")
            settings = public(values) if isinstance(values, Mapping) else {}
            self._drafts.put((tenant,), {"at": time.time(), "draft": {**draft, "values": settings}})

    def kept(self, tenant: str) -> dict[str, Any] | None:
        """The form, and the time at which it was kept."""
        return self._drafts.get((tenant,))

    def forget(self, tenant: str) -> None:
        """Drop everything of an installation."""
        self._drafts.forget(tenant)
