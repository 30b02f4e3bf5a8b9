"""Dify: knowledge retrieval over its service API.

POST /datasets/{id}/retrieve, GET /datasets/{id}, GET /datasets; seen on 1.9.2, 1.12.1, 1.13.3, 1.14.2 and 1.16.0.
"""

import re
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from adapters.backend import Backend, Failure
from adapters.dify_dataset import dataset_of, refuse_incomparable, refuse_unsearchable
from adapters.dify_retrieval_model import (
    METHODS,
    measure,
    plain,
    provider_and_name,
    ranked_by,
    retrieval_model,
    without_threshold,
)
from adapters.options import Options
from adapters.who import Forms
from bridge.datasets import PAGE_SIZE, Dataset, paged
from bridge.errors import (
    AuthError,
    BridgeError,
    NotFoundError,
    RateLimitedError,
    ResponseError,
    Retry,
    SettingsError,
    UnavailableError,
)
from bridge.hits import Hit, read_each, side_by_side
from bridge.http import Http, Reply
from bridge.links import absolute
from bridge.question import Question
from bridge.values import filled, joined, mapping, number, text

DATASET_KEPT = 60.0
"""Seconds after which a dataset's own settings are looked up again, beside a search."""
_PASSAGES = ("segment.content", "segment.answer")
FILES = "/files/"
"""Where Dify serves its files, beside its API."""
_KEY = "Use a key of Knowledge > Service API (dataset-...), not one of an app"
_MODELS = "Check the dataset's embedding and rerank models and the vector store in Dify"
_OURS = r"400 bad_request|400 \w* ?(\d+ validation error|Query |Input payload)"
_COMPARED = r"\d+ \w* ?\(psycopg2.errors.InvalidTextRepresentation"
_NUMBERS = "Compare number and time fields, with numbers; a time is seconds since 1970"
_INSIDE = "the search failed inside Dify"
_NO_INDEX = "an economy or empty dataset"
_NO_SETTINGS = "the request was not understood"
_MAY_BE_THE_DATASET = (_INSIDE, _NO_INDEX, _NO_SETTINGS)
"""Failures that also come of a dataset that can't be searched like that."""
_LOOK_UP = "the look-up of the dataset's settings failed"
_NO_LOOK_UP = "Set search_mode to semantic or full_text (and rerank_model), which need none; or read Dify's log"
_UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_FAILURES = (
    Failure("401", AuthError, "the API key was refused", _KEY),
    Failure("403.*rate limit", RateLimitedError, "the workspace's rate limit is reached", "Wait at least 60 s"),
    Failure("403.*not enabled", AuthError, "API access is off", "Switch on Service API access of this dataset in Dify"),
    Failure("403", AuthError, "the key may not read this dataset", "Use a key of the dataset's own workspace"),
    Failure("404 page .", NotFoundError, "no dataset or API here", "Check dataset_id and api_base_url (ends in /v1)"),
    Failure("404 page", NotFoundError, "that is not Dify's API", "Set api_base_url to the API's address (ends in /v1)"),
    Failure("404", NotFoundError, "the dataset was not found", "Check dataset_id, and whose key api_key is"),
    Failure(_COMPARED, SettingsError, "filters compare what is no number", _NUMBERS, quoted=False),
    Failure(r"400 look-up \w* \d+ validation error", ResponseError, _LOOK_UP, _NO_LOOK_UP),
    Failure("400 look-up|500 look-up internal", UnavailableError, _LOOK_UP, _NO_LOOK_UP, Retry(tries=2)),
    Failure(_OURS, ResponseError, "the request was not accepted", "Please report this with Dify's version"),
    Failure("400.*relation .* not exist", ResponseError, _NO_INDEX, "Set search_mode to auto or keyword", quoted=False),
    Failure("400 (dataset_not_init|provider_|model_currently)", UnavailableError, _INSIDE, _MODELS, inside=True),
    Failure("400", UnavailableError, _INSIDE, _MODELS, Retry(tries=2), inside=True),
    Failure(r"500 \w+ '", ResponseError, _NO_SETTINGS, "Check that the dataset is no external one"),
    Failure("500", UnavailableError, "Dify failed", "Read Dify's own log", Retry(tries=2), inside=True),
)
"""Contract of 1.9.2 to 1.16.0: a 400 that is none of ours is a passing fault of a model or the vector store."""


class DifyOptions(Options):
    """How to search in Dify."""

    modes: ClassVar[dict[str, str]] = METHODS
    offers: ClassVar[frozenset[str]] = frozenset({"rerank", "rerank_model", "vector_weight"})

    @model_validator(mode="after")
    def _reranker(self) -> Self:
        if self.rerank and self.search_mode == "keyword":
            raise ValueError("rerank is not available with keyword search; use search_mode semantic or hybrid")
        if self.rerank and self.rerank_model:
            provider_and_name(self.rerank_model)
        return self


class Dify(Backend):
    """A Dify workspace's datasets, searched with a key of its service API."""

    product: ClassVar[str] = "Dify"
    address_tail: ClassVar[str] = rf"(/v1)?/datasets(/({_UUID}(/.*)?|create|connect))?$|^/(console/)?api(/v1)?$|/v1$"
    dataset_pattern: ClassVar[str] = f"(?i){_UUID}"
    dataset_hint: ClassVar[str] = "copy the id (with its hyphens) out of the dataset's page address in Dify"
    query_limit: ClassVar[int] = 250
    version_header: ClassVar[str] = "x-version"
    lists: ClassVar[bool] = True
    forms: ClassVar[Forms] = Forms(
        own=r" code:text( message:\S+)?( params:\S+)?( status:\d+)?;| errors:\S+ message:text;|; .*x-version",
        marks=r" code:text message:text status:\d+;| page; .*x-version| query:\{content\} records:list;",
    )
    failures: ClassVar[tuple[Failure, ...]] = _FAILURES

    backend: Literal["dify"] = "dify"
    options: DifyOptions = DifyOptions()

    def _address(self) -> str:
        return super()._address().replace("://cloud.dify.ai", "://api.dify.ai")  # the page's address, and its API's

    async def search(self, question: Question, http: Http) -> list[Hit]:
        async def one(dataset: str) -> list[Hit]:
            model = retrieval_model(self.options, await self._settings(dataset, http), question.where)
            hits = await self._ask(dataset, model, question, http)
            if not any(question.where.holds(hit.metadata) for hit in hits):
                await self._nothing(dataset, model, question, http, found=bool(hits))
            for hit in hits:
                hit.text = absolute(hit.text, pages, (FILES,))
            return hits

        pages = self.api_base_url.replace("://api.dify.ai", "://upload.dify.ai")  # its cloud has a host for files
        return await side_by_side(self.dataset_id, one)

    async def describe(self, http: Http) -> list[str]:
        lines = []
        for dataset in self.dataset_id:
            info = mapping(await http.get(f"/v1/datasets/{dataset}", keep=DATASET_KEPT))
            refuse_unsearchable(info, "")
            if not text(info.get("name")):
                continue
            saved = mapping(info.get("retrieval_model_dict"))
            method = text(saved.get("search_method")) or "semantic_search"
            lines.append(f"{info['name']}: {dataset_of(info).line}, searched by {method}")
        return lines

    async def datasets(self, http: Http) -> list[Dataset]:
        async def ask(page: int) -> Any:
            return await http.get("/v1/datasets", {"page": str(page), "limit": str(PAGE_SIZE)})

        return await paged(ask, dataset_of, http, "total")

    async def explain(self, error: BridgeError, http: Http) -> BridgeError:
        if error.happened.startswith(_MAY_BE_THE_DATASET):
            method = METHODS.get(self.options.search_mode, "")
            for dataset in self.dataset_id:
                try:
                    refuse_unsearchable(mapping(await _details(dataset, http)), method)
                except SettingsError as found:
                    found.dataset = dataset if len(self.dataset_id) > 1 else ""
                    return found
                except BridgeError:
                    return error
        return error

    def gist(self, reply: Reply) -> str:
        told = super().gist(reply)
        return told.replace(" ", " look-up ", 1) if re.search("/datasets/[^/]+$", reply.path) else told

    async def _ask(self, dataset: str, model: dict[str, Any], question: Question, http: Http) -> list[Hit]:
        payload = {"query": question.text, "retrieval_model": model}
        answer = await http.post(f"/v1/datasets/{dataset}/retrieve", payload)
        return _hits(answer, measure(model), dataset, http, self.enough(question))

    async def _settings(self, dataset: str, http: Http) -> dict[str, Any]:
        """The dataset's details where the options need them, else nothing."""
        options = self.options
        if options.search_mode not in ("auto", "hybrid") and not (options.rerank and not options.rerank_model):
            return {}
        info = await _details(dataset, http)
        if info is None:
            http.note("Dify can't tell the dataset's own settings now; set search_mode to search without them")
        refuse_unsearchable(mapping(info), METHODS.get(options.search_mode, ""))
        return mapping(info)

    async def _nothing(
        self, dataset: str, model: dict[str, Any], question: Question, http: Http, *, found: bool
    ) -> None:
        """Where a search comes to nothing: raise what is behind it, if anything is. Only empty answers pay for this."""
        if not found:
            refuse_unsearchable(mapping(await _details(dataset, http)), model["search_method"])
        if question.where.conditions:
            fields = await http.look_up(f"/v1/datasets/{dataset}/metadata", keep=DATASET_KEPT)
            if fields is not None:
                refuse_incomparable(question.where, mapping(fields))
        ranking = ranked_by(model)
        if found or not ranking or not await self._ask(dataset, plain(model), question, http):
            return
        bare = without_threshold(model)
        if bare != model and await self._ask(dataset, bare, question, http):
            return  # the threshold left nothing, and that is an answer
        raise UnavailableError(
            f"{ranking} left nothing of what a plain search finds",
            f"Check {ranking} in Dify, or choose another search_mode",
        )


async def _details(dataset: str, http: Http) -> Any:
    """What Dify says of a dataset, None where it can't tell; see `Http.look_up`."""
    return await http.look_up(f"/v1/datasets/{dataset}", keep=DATASET_KEPT)


def _hits(answer: Any, measured: str, dataset: str, http: Http, enough: int | None) -> list[Hit]:
    if "records" not in mapping(answer):
        raise ResponseError(f"the answer has no records ({http.seen(answer)})", "Check Dify's version")
    hits = read_each(answer["records"], lambda record: _hit(record, measured, dataset), http, _PASSAGES, enough)
    if not measured or (measured == "text_rank" and not any(hit.score for hit in hits)):
        for hit in hits:
            hit.score = None  # keyword search, and vector stores that pass no rank on
            hit.metadata.pop("measure", None)
    return hits


def _hit(record: dict[str, Any], measure: str, dataset: str) -> Hit:
    segment = mapping(record.get("segment"))
    document = mapping(segment.get("document"))
    question, signed, answer = (text(segment.get(name)) for name in ("content", "sign_content", "answer"))
    if signed.strip() and FILES in question:
        question = signed
    return Hit(
        id=text(segment.get("id")),
        text=joined(question, answer),
        score=number(record.get("score")),
        metadata=filled(
            document_name=text(document.get("name")),
            document_id=text(document.get("id")) or text(segment.get("document_id")),
            dataset_id=dataset,
            position=segment.get("position"),
            measure=measure,
            document_metadata=mapping(document.get("doc_metadata")),
            data_source_type=document.get("data_source_type"),
            keywords=segment.get("keywords"),
            answer=answer,
            summary=record.get("summary"),
            child_chunks=record.get("child_chunks"),
            files=record.get("files"),
        ),
    )
