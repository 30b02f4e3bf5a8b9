"""One service under fire: its settings, its recorded good answer, its own form of a failure, and what it must not tell."""

import copy
import html
import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any
from urllib.parse import quote, quote_plus

from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from adapters import BACKENDS
from tests.contract.cases import CASES, Case
from tests.contract.stand_in import context, recording

PAGE_MARK = "Sign-in-page-of-Example-Corp"


@dataclass(frozen=True)
class Kit:
    """A case with a key and a query of its own."""

    case: Case
    name: str = ""

    @property
    def backend(self) -> str:
        return self.case.backend

    @property
    def product(self) -> str:
        return BACKENDS[self.backend].product

    @cached_property
    def key(self) -> str:
        return f"KEY{sha256(f'{self.backend} {self.name}'.encode()).hexdigest()[:40]}"

    @cached_property
    def query(self) -> str:
        return f'Does Ada Example\'s contract <b>no {self.key[-4:]}7</b> & annex say "ten days"?'

    @cached_property
    def found(self) -> dict[str, Any]:
        """The recorded good answer, in which the service repeats what it was asked."""
        told = copy.deepcopy(recording(self.backend, self.case.good)["response"])
        return {**told, "request": {"authorization": f"Bearer {self.key}", "asked": self.query}}

    @property
    def good(self) -> bytes:
        return json.dumps(self.found, ensure_ascii=False).encode()

    @property
    def echo(self) -> str:
        return f"no luck with Authorization: Bearer {self.key} and {self.query}"

    def failed(self, status: int, words: str = "") -> bytes:
        """A failure in the service's own form, with key and query in its words."""
        words = words or self.echo
        match self.backend:
            case "dify":
                told: dict[str, Any] = {"code": "failed", "message": words, "status": status}
            case "ragflow":
                told = {"code": status, "data": None, "message": words}
            case "fastgpt":
                told = {"code": status, "statusText": "", "message": words, "data": None}
            case "jinba":
                told = {"status": "failed", "error": {"name": "Error", "message": words}}
            case "anything_llm":
                told = {"error": words}
            case "weknora":
                told = {"success": False, "error": {"code": status, "message": words, "details": None}}
            case _:
                told = {"error_code": status, "error_msg": words}
        return json.dumps(told).encode()

    @property
    def page(self) -> bytes:
        said = html.escape(self.query)
        return (
            f"<!DOCTYPE html><html><head><title>{PAGE_MARK}</title></head><body><p>{PAGE_MARK} {said} "
            f"Bearer {self.key}</p></body></html>"
        ).encode()

    def head(self, status: int, headers: dict[str, str | None] | None = None) -> bytes:
        """Status line and headers, both with key and query in them; a header set to None is left out."""
        said = {
            "Content-Type": "application/json",
            "X-Version": "1.14.2" if self.backend == "dify" else None,
            "X-Authorization": f"Bearer {self.key}",
            "X-Asked": self.query,
            "Set-Cookie": f"last={quote(self.query)}; Path=/",
            **(headers or {}),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in said.items() if value is not None)
        return f"HTTP/1.1 {status} for Bearer {self.key}: {self.query}\r\n{lines}\r\n".encode()

    def whole(
        self, status: int = 200, body: bytes | None = None, headers: dict[str, str | None] | None = None
    ) -> bytes:
        """A whole answer, the good one if none is given."""
        body = self.good if body is None else body
        return self.head(status, {"Content-Length": str(len(body)), **(headers or {})}) + body

    def context(self, base: str, timeout: float, **settings: Any) -> RetrievalContext:
        creation = {"api_base_url": base, "api_key": self.key, **settings.get("creation", {})}
        retrieval = {"timeout": timeout, **settings.get("retrieval", {})}
        return context(self.case, settings.get("query", self.query), creation=creation, retrieval=retrieval)

    @cached_property
    def secrets(self) -> frozenset[str]:
        """8 characters of the key, 12 of the query however it is written, or a page."""
        key = self.key.casefold()
        written = {
            self.query,
            quote(self.query),
            quote_plus(self.query),
            html.escape(self.query),
            json.dumps(self.query),
        }
        parts = {q[i : i + 12].casefold() for q in written for i in range(len(q) - 11)}
        parts |= {key[i : i + 8] for i in range(len(key) - 7)}
        return frozenset(parts | {PAGE_MARK.casefold(), "<html", "<!doctype", "</p>"})

    def secrets_in(self, told: str) -> list[str]:
        """Where a text holds a secret."""
        lower = told.casefold()
        places = [place for part in self.secrets if (place := lower.find(part)) >= 0]
        return [f"...{told[max(0, min(places) - 60) : min(places) + 60]}..."] if places else []


KITS = [Kit(case) for case in CASES]
