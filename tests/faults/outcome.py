"""What a call came to, with every text that left."""

import contextlib
import logging
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field

from langbot_plugin.api.entities.builtin.rag import RetrievalResponse

from adapters import BridgeError


class Listener(logging.Handler):
    """Every record at every level, formatted with its traceback."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@contextlib.contextmanager
def listening() -> Iterator[list[str]]:
    """All that is logged."""
    root, listener = logging.getLogger(), Listener()
    level = root.level
    root.addHandler(listener)
    root.setLevel(logging.DEBUG)
    try:
        yield listener.lines
    finally:
        root.removeHandler(listener)
        root.setLevel(level)


@dataclass
class Outcome:
    """What a call came to."""

    response: RetrievalResponse | None = None
    error: BaseException | None = None
    elapsed: float = 0.0
    requests: int = 0
    connections: int = 0
    lines: list[str] = field(default_factory=list)
    astray: int = 0
    """Requests that went to somebody else."""

    @property
    def kind(self) -> str:
        return (
            type(self.error).__name__
            if self.error
            else f"{len(self.response.results)} entries"
            if self.response
            else "-"
        )

    @property
    def tries(self) -> int:
        return self.error.tries if isinstance(self.error, BridgeError) else 1

    @property
    def text(self) -> str:
        """What the admin reads, without what differs from run to run."""
        told = re.sub(r"refused, \d+ tries", "refused, N tries", str(self.error or ""))
        told = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", told)
        told = re.sub(
            r"TLS failed \(.*?\)", "TLS failed (OpenSSL's reason)", told.replace("self signed", "self-signed")
        )
        return re.sub(r"Wait 35\d\d s", "Wait 3600 s", told)

    def told(self) -> dict[str, str]:
        """Every text that leaves, by where it does."""
        texts = {"log": "\n".join(self.lines)}
        if self.error:
            texts["text"] = str(self.error)
            texts["repr"] = repr(self.error)
            texts["args"] = repr(self.error.args)
            texts["traceback"] = "".join(traceback.format_exception(self.error))
        if self.response:
            texts["metadata"] = repr(self.response.metadata)
            texts["entries' metadata"] = repr([entry.metadata for entry in self.response.results])
        return texts
