"""See scripts.console."""

from scripts.console import PAGE, page

PAGE.write_text(page(), "utf-8")
