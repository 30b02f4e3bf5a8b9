"""WeKnora: POST /api/v1/knowledge-bases/{id}/hybrid-search, from v0.6.3 on, GET /api/v1/knowledge-bases and of one.

Known from the source of 0.7.2, not run.
"""

import re
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from adapters.backend import Backend, Failure
from adapters.options import Options
from adapters.who import Forms
from bridge.datasets import Dataset, dataset_records, told
from bridge.errors import AuthError, NotFoundError, ResponseError, Retry, SettingsError, UnavailableError
from bridge.filters import Condition, Filter
from bridge.hits import Hit, listed, read_each, side_by_side
from bridge.http import Http, Reply
from bridge.question import Question
from bridge.values import counted, filled, first, link_in, mapping, number, text

MOST = 500
"""As many candidates WeKnora ranks."""
WIDER = 10
"""Times top_k that is asked for where a filter is checked here alone."""
WORDS = 1
"""match_type of what the word search found."""
AROUND = (2, 4, 5)
"""match_type of a hit's neighbours, parent and relations."""
_KEY = "Use a key (sk-...) of the knowledge base's own workspace in WeKnora"
_MODEL = "Check the knowledge base's embedding model in WeKnora"
_STORE = "Check the knowledge base's vector store in WeKnora"
_FAILURES = (
    Failure("401  Unauthorized: invalid API key$", AuthError, "the API key was refused", _KEY, Retry(tries=2)),
    Failure("401  Unauthorized: ", AuthError, "the API key was refused", _KEY),
    Failure("403  Forbidden: API key scope", AuthError, "the key may not search", "Give it the capability retrieve"),
    Failure("403 1002", AuthError, "the key may not read this knowledge base", f"{_KEY}, and check what it may read"),
    Failure("40[13]  ", ResponseError, "something in front of WeKnora refused the request", "Let it pass there"),
    Failure("409 TENANT_REQUIRED", SettingsError, "api_key is a platform's key", _KEY),
    Failure(
        "404 1003", NotFoundError, "the knowledge base was not found", "Check dataset_id, and whose key api_key is"
    ),
    Failure(
        "404 page",
        NotFoundError,
        "its search is not at this address",
        "Check api_base_url; WeKnora must be v0.6.3 or newer",
    ),
    Failure("400 2200", SettingsError, "the knowledge base has no usable vector store", _STORE),
    Failure("400 2201", UnavailableError, "the vector store is away", _STORE, Retry()),
    Failure(
        "400 1000 .*embedding models", SettingsError, "dataset_id mixes embedding models", "Make a knowledge base each"
    ),
    Failure("400 1000", ResponseError, "the request was not accepted", "Please report this with WeKnora's version"),
    Failure("500 1007 model not found", SettingsError, "the embedding model is missing", _MODEL),
    Failure("500 1007 model |500 1007 .*Status 4(?!08|29)", UnavailableError, "the embedding model failed", _MODEL),
    Failure("500 1007", UnavailableError, "the search failed inside WeKnora", "Read WeKnora's log", Retry(tries=2)),
    Failure("500  runtime error", ResponseError, "WeKnora broke on the request", "Please report this with its version"),
)
"""A wrong key is also what WeKnora says while its database is away, so it is tried twice."""
_FOREIGN = re.compile(r'(?is),? ?\bresponse: .*|"?https?://\S+|\bsk-\S+')
"""What a model's provider answered, where it stands, and its key, in the raw errors that WeKnora passes on."""


class WeKnoraOptions(Options):
    """How to search in WeKnora: by meaning, unless something else is chosen."""

    modes: ClassVar[dict[str, str]] = {
        "semantic": "disable_keywords_match",
        "full_text": "disable_vector_match",
        "hybrid": "",
    }
    """What switches the other half off."""

    @property
    def by_meaning(self) -> bool:
        """Whether vectors alone are asked, whose score is a similarity: fused ones are ranks, those of words unbounded."""
        return self.search_mode in ("auto", "semantic")

    @model_validator(mode="after")
    def _scored(self) -> Self:
        if self.score_threshold and not self.by_meaning:
            raise ValueError(
                f"score_threshold is not available with search_mode {self.search_mode}, whose passages have no score; "
                "set it to 0, or search_mode to semantic"
            )
        return self


class WeKnora(Backend):
    """Knowledge bases of a WeKnora workspace."""

    product: ClassVar[str] = "WeKnora"
    address_tail: ClassVar[str] = r"/(api(/v1(/.*)?)?|platform(/.*)?|swagger(/.*)?|health)$"
    dataset_pattern: ClassVar[str] = r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    dataset_hint: ClassVar[str] = "copy the id (with its hyphens) out of the knowledge base's page address in WeKnora"
    key_header: ClassVar[tuple[str, str]] = ("X-API-Key", "")
    filters: ClassVar[bool] = False
    lists: ClassVar[bool] = True
    forms: ClassVar[Forms] = Forms(
        own=r" error:\{code details message\} success:false;|^\d+ (code:text )?error:text( message:text)?;"
        r"| data:\S+.* success:true;|404 words;",
        marks=r" error:\{code details message\} success:false;",
    )
    failures: ClassVar[tuple[Failure, ...]] = _FAILURES

    backend: Literal["weknora"] = "weknora"
    options: WeKnoraOptions = WeKnoraOptions()

    async def search(self, question: Question, http: Http) -> list[Hit]:
        async def one(base: str) -> list[Hit]:  # in a list of several, WeKnora drops unknown ids without a word
            answer = await http.post(f"/api/v1/knowledge-bases/{base}/hybrid-search", self._payload(question))
            found = listed(answer["data"])
            records = [record for record in found if mapping(record).get("match_type") not in AROUND]
            scored = self.options.by_meaning and not any(
                mapping(record).get("match_type") == WORDS for record in records
            )
            return read_each(
                records, lambda record: _hit(record, base, scored=scored), http, ("content",), self.enough(question)
            )

        return await side_by_side(self.dataset_id, one)

    async def describe(self, http: Http) -> list[str]:
        lines = []
        for base in self.dataset_id:
            info = mapping((await http.get(f"/api/v1/knowledge-bases/{base}"))["data"])
            _searchable(info, self.options)
            if text(info.get("name")):
                lines.append(f"{info['name']}: {_dataset(info).line}")
        return lines

    async def datasets(self, http: Http) -> list[Dataset]:
        return [_dataset(info) for info in dataset_records(await http.get("/api/v1/knowledge-bases"), http)]

    def accepts(self, reply: Reply) -> bool:
        answer = mapping(reply.data)
        whole = isinstance(answer.get("data", ""), list | dict | None)  # null is an empty list
        return super().accepts(reply) and answer.get("success") is True and whole

    def words(self, data: Any) -> str:
        error = mapping(mapping(data).get("error"))
        told = ": ".join(filter(None, (text(error.get("message")), text(error.get("details")))))
        return _FOREIGN.sub("", told if error else super().words(data))

    def gist(self, reply: Reply) -> str:
        error = mapping(mapping(reply.data).get("error"))
        return f"{reply.status} {error.get('code')} {self.words(reply.data)}" if error else super().gist(reply)

    def _payload(self, question: Question) -> dict[str, Any]:
        options, where = self.options, question.where
        named = _documents(where)
        wider = any(condition is not named for condition in where.conditions)
        switch = options.modes["semantic" if options.by_meaning else options.search_mode]
        return {
            "query_text": question.text,
            "match_count": min(options.top_k * WIDER, MOST) if wider else options.top_k,
            "vector_threshold": options.score_threshold,
            "skip_context_enrichment": True,
            **({switch: True} if switch else {}),
            **({"knowledge_ids": _texts(named.value)} if named else {}),
        }


def _dataset(info: dict[str, Any]) -> Dataset:
    chunks, (vectors, words) = info.get("chunk_count"), _indexes(info)
    note = ""
    if not vectors and not words:
        note = "neither vectors nor an index of words: nothing can be found"
    elif chunks == 0:
        note = "empty: nothing is indexed yet"
    elif not vectors:
        note = "no vectors: searched by full text only"
    line = told(info.get("type"), counted(info.get("knowledge_count"), "document"), counted(chunks, "chunk"))
    return Dataset(text(info.get("id")), text(info.get("name")), line, note, vectors or words)


def _indexes(info: dict[str, Any]) -> tuple[bool, bool]:
    """Whether a knowledge base has vectors, and an index of words."""
    indexed = mapping(info.get("indexing_strategy"))
    words = indexed.get("keyword_enabled") is not False and info.get("type") != "faq"
    return indexed.get("vector_enabled") is not False, words


def _searchable(info: dict[str, Any], options: WeKnoraOptions) -> None:
    """Refuse by name a search that a knowledge base has no index for: WeKnora finds nothing there, and doesn't say so."""
    vectors, words = _indexes(info)
    if not vectors and not words:
        raise SettingsError("the knowledge base has neither vectors nor an index of words", "Switch one on in WeKnora")
    if options.by_meaning and not vectors:
        raise SettingsError(
            "search_mode semantic finds nothing in a knowledge base without vectors", "Set search_mode to full_text"
        )
    if options.search_mode == "full_text" and not words:
        raise SettingsError(
            "search_mode full_text finds nothing in a knowledge base without an index of words",
            "Set search_mode to semantic",
        )


def _documents(where: Filter) -> Condition | None:
    """The condition that WeKnora takes: the documents that all passages must belong to."""
    conditions = where.conditions if where.logic == "and" else ()
    return next((c for c in conditions if c.field == "document_id" and c.operator in ("eq", "in")), None)


def _texts(value: Any) -> list[str]:
    return [str(item) for item in (value if isinstance(value, list) else [value])]


def _hit(record: dict[str, Any], base: str, *, scored: bool) -> Hit:
    score, source = number(record.get("score")), text(record.get("knowledge_source"))
    lines = (line.partition(": ") for line in text(record.get("knowledge_custom_metadata")).splitlines())
    document = mapping(record.get("metadata")) | {name: value for name, _, value in lines if value}
    return Hit(
        id=text(record.get("id")),
        text=text(record.get("content")),
        score=score if scored else None,
        metadata=filled(
            document_name=first(record, "knowledge_title", "knowledge_filename"),
            document_id=text(record.get("knowledge_id")),
            dataset_id=text(record.get("knowledge_base_id")) or base,
            position=record.get("chunk_index"),
            measure="similarity" if scored else "",
            raw_score=None if scored else score,
            document_metadata=document,
            url=link_in({"source": source}) or link_in(document),
            data_source_type=source,
            chunk_type=record.get("chunk_type"),
        ),
    )
