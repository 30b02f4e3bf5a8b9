"""Links that only a service's own page can follow, made absolute: those without a host, in Markdown and in HTML."""

import re
from urllib.parse import urlsplit

ALT_LIMIT = 300
_MARKDOWN = re.compile(r"(\]\(\s*<?)(/(?!/)[^\s<>)]*)")
_HTML = re.compile(r"""(<(?i:img|a)\b[^<>]*?\s(?i:src|href)\s*=\s*["']?)(/(?!/)[^\s"'<>]*)""")


def absolute(text: str, base: str, own: tuple[str, ...]) -> str:
    """`text` with the links of the service at `base`: every picture's without a host, and others to paths of `own`.

    A document's other links may mean the site that it comes from, which nobody here knows; they stay as they are.
    """

    def put(link: re.Match[str]) -> str:
        opening, path = link.groups()
        picture = opening[1] in "iI" if opening[0] == "<" else _of_picture(link)
        return opening + hosted(path, base) if picture or path.removeprefix(_path(base)).startswith(own) else link[0]

    if "]" in text:
        text = _MARKDOWN.sub(put, text)
    if "<" in text:
        text = _HTML.sub(put, text)
    return text


def hosted(link: str, base: str) -> str:
    """`link` behind `base` if it lacks a host; what it says of base's path already isn't said twice."""
    if not link.startswith("/") or link.startswith("//"):
        return link
    path = _path(base)
    return (base.removesuffix(path) if path and link.startswith(f"{path}/") else base) + link


def _path(base: str) -> str:
    return urlsplit(base).path


def _of_picture(link: re.Match[str]) -> bool:
    """Whether a Markdown link's bracket was opened as a picture's."""
    opened = link.string.rfind("[", max(link.start() - ALT_LIMIT, 0), link.start())
    return opened > 0 and link.string[opened - 1] == "!"
