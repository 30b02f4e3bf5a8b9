"""The handbook of a made-up shop, in English and Chinese."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum


class Form(Enum):
    """How the passages of a document are built."""

    TEXT = "text"
    QUESTION_ANSWER = "question and answer"
    PARENT_CHILD = "parent and child"


@dataclass(frozen=True, slots=True)
class Document:
    """One file of the handbook."""

    name: str
    category: str
    year: int
    form: Form = Form.TEXT

    @property
    def link(self) -> str:
        """Address of the document on a host that can't exist."""
        return f"https://lamp-shop.example/handbook/{self.name}"

    @property
    def published(self) -> int:
        """Start of the document's year in Unix seconds."""
        return int(datetime(self.year, 1, 1, tzinfo=UTC).timestamp())

    @property
    def metadata(self) -> dict[str, str | int]:
        """What a service may keep about the document and filter by."""
        return {"category": self.category, "year": self.year, "published": self.published, "link": self.link}


@dataclass(frozen=True, slots=True)
class Passage:
    """One chunk of a document; `text` is the question alone in a question-and-answer document."""

    document: Document
    position: int
    text: str
    answer: str | None = None
    children: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Name that no other passage has."""
        return f"{self.document.name}#{self.position}"

    @property
    def pieces(self) -> tuple[str, ...]:
        """Texts by which the passage is found: its children, else itself."""
        return self.children or (self.text,)

    @property
    def full_text(self) -> str:
        """Everything that the passage says."""
        return self.text if self.answer is None else f"{self.text}\n{self.answer}"


def handbook() -> tuple[Passage, ...]:
    """Return every passage, document by document, always in the same order."""
    return tuple(_passages())


def _passages() -> Iterator[Passage]:
    for document, texts in _TEXTS:
        for position, text in enumerate(texts, 1):
            yield Passage(document, position, text)
    for document, pairs in _PAIRS:
        for position, (question, answer) in enumerate(pairs, 1):
            yield Passage(document, position, question, answer)
    for document, parents in _PARENTS:
        for position, children in enumerate(parents, 1):
            yield Passage(document, position, "\n\n".join(children), children=children)


_TEXTS = (
    (
        Document("refund-policy.md", "policy", 2024),
        (
            "Refunds are paid within 14 days after the returned parcel has reached the Example Lamp Shop.",
            "A refund request needs the order number and a photo of the receipt.",
            "Opened bulbs and custom-made lamp shades are excluded from refunds.",
        ),
    ),
    (
        Document("warranty.md", "policy", 2026),
        (
            "The warranty of every lamp lasts two years and starts on the day of delivery.",
            "Water damage and broken glass are not covered by the warranty.",
            "Warranty repairs are done in our workshop in Sampletown and take ten working days.",
        ),
    ),
    (
        Document("shipping.md", "logistics", 2025),
        (
            "Parcels leave the warehouse on the next working day; standard delivery takes three to five days.",
            "Express shipping costs 9 euros and arrives the next morning.",
            "We ship to all countries of the European Union, but not to islands without a bridge.",
        ),
    ),
    (
        Document("glow-one-reset.md", "manual", 2025),
        (
            "To reset the Glow One smart lamp, hold the power button for ten seconds until the light blinks blue.",
            "The Glow One is paired with a Wi-Fi network in the app; only the 2.4 GHz band works.",
        ),
    ),
    (
        Document("opening-hours.md", "shop", 2026),
        (
            "The shop at 1 Sample Street is open from Monday to Friday, 10:00 to 18:00.",
            "On Saturdays we close at 14:00; on Sundays and public holidays the shop stays closed.",
        ),
    ),
    (
        Document("退款政策.md", "policy", 2024),
        (
            "退回的包裹到达示例灯具店后，退款会在十四天内到账。",
            "申请退款需要订单号和收据照片。",
        ),
    ),
    (
        Document("配送说明.md", "logistics", 2025),
        (
            "包裹在下一个工作日出库，标准配送需要三到五天。",
            "加急配送收费九欧元，次日上午送达。",
        ),
    ),
    (
        Document("智能灯重置.md", "manual", 2025),
        (
            "重置智能灯时，请长按电源键十秒，直到蓝灯闪烁。",
            "智能灯在手机应用里连接无线网络，只支持 2.4 GHz 频段。",
        ),
    ),
    (
        Document("营业时间.md", "shop", 2026),
        (
            "门店周一至周五营业，上午十点开门，下午六点关门。",
            "周六下午两点打烊，周日和法定节假日休息。",
        ),
    ),
)

_PAIRS = (
    (
        Document("faq.csv", "faq", 2025, Form.QUESTION_ANSWER),
        (
            ("Can I change the delivery address after ordering?", "Yes, as long as the parcel is in the warehouse."),
            ("Which payment methods are accepted?", "Credit card, bank transfer and cash on collection."),
            ("Do you recycle old lamps?", "Yes, hand them in at the counter; it is free of charge."),
        ),
    ),
)

_PARENTS = (
    (
        Document("lamp-care.md", "manual", 2024, Form.PARENT_CHILD),
        (
            (
                "Wipe glass shades with a dry cloth; never use solvents.",
                "Clean fabric shades with a vacuum cleaner and a soft brush.",
            ),
            (
                "Use LED bulbs of at most 9 watts with an E27 socket.",
                "Unplug the lamp and let it cool down before you replace a bulb.",
            ),
        ),
    ),
)
