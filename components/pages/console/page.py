"""LangBot's side of the page: it only passes calls on."""

from typing import TYPE_CHECKING, cast

from langbot_plugin.api.definition.components.page import Page, PageRequest, PageResponse

from console.api import answer

if TYPE_CHECKING:
    from main import KnowledgeBridge


class Console(Page):
    """Connections, tests, journal and search for an admin."""

    async def handle_api(self, request: PageRequest) -> PageResponse:
        """See `console.api.answer`; failures stand inside the answer."""
        return PageResponse.ok(await answer(cast("KnowledgeBridge", self.plugin), request.endpoint, request.body))
