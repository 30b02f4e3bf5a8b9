"""One-time tickets: how settings that an admin tries travel through LangBot to the engine, and the outcome back."""

import secrets
from dataclasses import dataclass
from typing import Any

from langbot_plugin.api.entities.builtin.rag import RetrievalResponse

from bridge.errors import SettingsError
from bridge.recent import Recent
from console.journal import Call
from console.watch import Watched

TICKET = "knowledge_bridge_trial"
"""The name among a search's filters, since LangBot passes nothing else on."""
TRIALS = 256


@dataclass(slots=True)
class Trial:
    """A search that an admin makes with settings on top of those that are saved."""

    variant: dict[str, Any]
    watched: Watched
    ticket: str = ""
    taken: bool = False
    call: Call | None = None
    outcome: RetrievalResponse | BaseException | None = None

    def ended(self, call: Call, outcome: RetrievalResponse | BaseException) -> None:
        """What became of it."""
        self.call, self.outcome = call, outcome


class Trials:
    """The tickets of any number of installations. Each is unguessable and good for one search of its installation."""

    def __init__(self) -> None:
        self._open: Recent[tuple[str, str], Trial] = Recent(TRIALS)

    def issue(self, tenant: str, trial: Trial) -> str:
        """A ticket for a trial."""
        trial.ticket = secrets.token_urlsafe(24)
        self._open.put((tenant, trial.ticket), trial)
        return trial.ticket

    def take(self, tenant: str, ticket: Any) -> Trial:
        """The trial that a ticket stands for, once; SettingsError for any other."""
        trial = self._open.pop((tenant, str(ticket)), None)
        if trial is None:
            raise SettingsError("this search from the plugin's page is over", "Search again on the page")
        trial.taken = True
        return trial

    def drop(self, tenant: str, trial: Trial) -> None:
        """A ticket that nobody took is good for nothing any more."""
        self._open.pop((tenant, trial.ticket), None)

    def forget(self, tenant: str) -> None:
        """Drop everything of an installation."""
        self._open.forget(tenant)
