"""What a service is: its settings, its table of failures, and how it is searched."""

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationInfo, model_validator

from adapters.options import Options
from adapters.who import Forms, form_of, in_own_words, looks_like, stranger
from adapters.words import code_in, words_in
from bridge.datasets import Dataset
from bridge.errors import BridgeError, Retry, SettingsError
from bridge.filters import lookup
from bridge.hits import Hit
from bridge.http import Http, Reply
from bridge.question import Question
from bridge.settings import Key, Texts, address, parsed, without_unset

SPARE = 10
CHOOSING = "choosing"
"""The context in which settings are validated before a dataset is chosen."""
_RERANKED = "Check the reranker and rerank_model, or switch rerank off; else read the service's log"


class Failure(NamedTuple):
    """A row of a service's table of failures: the pattern of the gist, and the error it stands for."""

    pattern: str
    kind: type[BridgeError]
    happened: str
    remedy: str
    retry: Retry | None = None
    quoted: bool = True
    """Whether the service's own words may be shown."""
    inside: bool = False
    """Whether the search itself failed, so that a reranker that was asked for may be the cause."""


class Backend(BaseModel, ABC):
    """One service's settings and how to search it. Frozen; holds the whole of a call's configuration."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, str_strip_whitespace=True)

    product: ClassVar[str]
    address_tail: ClassVar[str] = ""
    """The pattern of what people paste behind the base URL, from its slash to the end: pages and routes of the service."""
    dataset_pattern: ClassVar[str] = ""
    """What a dataset id looks like; it is searched for in what was pasted, a page's address for one."""
    dataset_hint: ClassVar[str] = "copy it from the service's page"
    """Where an admin finds a dataset's id."""
    key_header: ClassVar[tuple[str, str]] = ("Authorization", "Bearer ")
    """The header that carries the key, and what stands before the key in it."""
    query_limit: ClassVar[int] = 4000
    """Code points of a query that the service takes, or that still make sense there."""
    version_header: ClassVar[str] = ""
    """The response header in which the service tells its version, in small letters."""
    filters: ClassVar[bool] = True
    """Whether the service takes filters; else they are checked here alone, on the metadata that it returns."""
    filter_hint: ClassVar[str] = ""
    """What to filter by where the service filters but may return no metadata to check it; blank: it always does."""
    forms: ClassVar[Forms] = Forms(loose=True)
    """What its answers look like; what looks otherwise is somebody else's."""
    lists: ClassVar[bool] = False
    """Whether the service can list the datasets that a key may read."""
    failures: ClassVar[tuple[Failure, ...]] = ()
    """The first row whose pattern fits the gist counts."""
    resend: ClassVar[bool] = True
    """Whether a request that may have arrived can be sent again."""
    own_query: ClassVar[SecretStr] = SecretStr("")
    """The query string that belongs to every request, where an address brings one. It may be a password."""

    backend: str
    api_base_url: str
    api_key: Key
    dataset_id: Texts = ()
    verify_tls: bool = True
    check_on_save: bool = True
    options: Options = Options()

    _drop_unset = model_validator(mode="before")(without_unset)

    @model_validator(mode="after")
    def _usable(self, info: ValidationInfo) -> Self:
        """Read the address and the dataset; CHOOSING as the context leaves the dataset for later."""
        try:
            base = self._address()
            if "?" in self.api_base_url and self.takes_own_query:
                object.__setattr__(self, "own_query", SecretStr(parsed(self.api_base_url).query))
        except ValueError as error:
            raise ValueError(f"api_base_url {error}") from None
        values = {"api_base_url": base, "dataset_id": () if info.context == CHOOSING else self._dataset_ids()}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    @property
    def timeout(self) -> float:
        """Seconds for everything that one retrieval does."""
        return self.options.timeout

    @property
    def key_owner(self) -> tuple[str | int | None, ...]:
        """Whom the key belongs to: the service, and scheme, host and port of its address."""
        parts = urlsplit(self.api_base_url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        return self.backend, parts.scheme, parts.hostname, port

    @property
    def takes_own_query(self) -> bool:
        """Whether a query string in the address is part of an endpoint; else it came along with a page's address."""
        return False

    def _address(self) -> str:
        return address(self.api_base_url, self.address_tail)

    def _dataset_ids(self) -> tuple[str, ...]:
        if not self.dataset_id:
            raise ValueError(f"dataset_id is missing; {self.dataset_hint}")
        if not self.dataset_pattern:
            return self.dataset_id
        found = [re.search(self.dataset_pattern, item) for item in self.dataset_id]
        if not all(found):
            raise ValueError(f"dataset_id holds no {self.product} dataset id; {self.dataset_hint}")
        return tuple(dict.fromkeys(match[0] for match in found if match))

    def question(self, query: str, filters: dict[str, Any] | None = None) -> Question:
        """A host's query and filters as the service takes them; SettingsError for a filter that can't be read."""
        try:
            return Question.of(query, filters or {}, self.query_limit, split=self.options.long_query == "split")
        except SettingsError as error:
            raise error.at(f"{self.product} settings") from None

    def enough(self, question: Question) -> int | None:
        """How many passages of one list need to be read, a few to spare for doubles; None where some may be dropped."""
        dropping = question.where.conditions or self.options.score_threshold
        return None if dropping else self.options.top_k + SPARE

    def kept(self, question: Question, hits: list[Hit]) -> list[Hit]:
        """The hits that the question's filter lets pass.

        SettingsError where nobody can tell: no hit has a field that the filter names, and the service doesn't filter, or
        returns no metadata at all.
        """
        where = question.where
        if not where.conditions or not hits:
            return hits
        fields = [c.field for c in where.conditions if all(lookup(h.metadata, c.field) is None for h in hits)]
        told = any(h.metadata.get("document_metadata") for h in hits)
        if fields and not self.filters:
            raise SettingsError(
                f"filters: {self.product} neither filters nor returns {', '.join(fields)}",
                f"Filter by one of: {', '.join(sorted(hits[0].metadata))}",
            )
        if fields and self.filter_hint and not told:
            raise SettingsError(
                f"filters: {self.product} returned no {', '.join(fields)} to check the passages by", self.filter_hint
            )
        return [hit for hit in hits if where.holds(hit.metadata)]

    @abstractmethod
    async def search(self, question: Question, http: Http) -> list[Hit]:
        """The service's passages for a question that isn't blank, in its order; raises BridgeError."""

    async def explain(self, error: BridgeError, http: Http) -> BridgeError:  # noqa: ARG002
        """What a failed search comes from, where the service can tell more than it said."""
        return error

    async def describe(self, http: Http) -> list[str]:  # noqa: ARG002
        """What the service says about each dataset without a search, a line each; raises BridgeError.

        None for a dataset that the answer doesn't name.
        """
        return []

    async def datasets(self, http: Http) -> list[Dataset]:  # noqa: ARG002
        """What the key may read, in the service's order; raises BridgeError, SettingsError unless the service `lists`."""
        raise self.unlisted()

    @classmethod
    def unlisted(cls) -> SettingsError:
        """The error of a service that has no list to choose from."""
        hint = "Enter dataset_id by hand" + (f"; {cls.dataset_hint}" if cls.dataset_hint else "")
        return SettingsError("datasets can't be listed here", hint).at(f"{cls.product} settings")

    def accepts(self, reply: Reply) -> bool:
        """Whether the service says that it did what it was asked."""
        return reply.status in range(200, 300) and reply.is_json

    def words(self, data: Any) -> str:
        """What an answer says in words about a failure."""
        return words_in(data)

    def gist(self, reply: Reply) -> str:
        """`<status> <code> <message>` of a failure in the service's own words: what the `failures` table looks at."""
        return f"{reply.status} {code_in(reply.data)} {self.words(reply.data)}"

    def failure(self, reply: Reply) -> BridgeError | None:
        """The error for an answer that the service doesn't accept; None leaves it to the status.

        First comes who answered, then the service's table. There `<status> page <version>` stands for whatever isn't in
        the service's own words: nothing, a page, or somebody else's answer whose status says enough.
        """
        if error := stranger(reply, self.product, self.forms, self._others()):
            return error
        gist = self.gist(reply) if in_own_words(reply, self.forms) else f"{reply.status} page {reply.version}"
        row = next((row for row in self.failures if re.match(row.pattern, gist)), None)
        if row is None:
            return None
        said = reply.said if row.quoted else f"status {reply.status}"
        remedy = _RERANKED if row.inside and self.options.rerank else row.remedy
        return row.kind(f"{row.happened} ({said})", remedy, retry=row.retry)

    def resembled(self, data: Any) -> str:
        """Another service whose form an answer has, empty for none."""
        return looks_like(form_of(data), self._others())

    def _others(self) -> dict[str, Forms]:
        return {kind.product: kind.forms for kind in Backend.__subclasses__() if not isinstance(self, kind)}
