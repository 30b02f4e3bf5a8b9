"""Sample questions to which exactly one passage of the handbook is the obvious answer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question and the key of the passage that answers it."""

    text: str
    passage: str


SAMPLE_QUESTIONS = (
    SampleQuestion("After how many days are refunds paid?", "refund-policy.md#1"),
    SampleQuestion("Do I need the receipt and the order number for a refund request?", "refund-policy.md#2"),
    SampleQuestion("Are custom-made shades excluded from refunds?", "refund-policy.md#3"),
    SampleQuestion("How many years does the warranty last?", "warranty.md#1"),
    SampleQuestion("Is water damage covered by the warranty?", "warranty.md#2"),
    SampleQuestion("Where are warranty repairs done?", "warranty.md#3"),
    SampleQuestion("When do parcels leave the warehouse?", "shipping.md#1"),
    SampleQuestion("How much does express shipping cost?", "shipping.md#2"),
    SampleQuestion("To which countries do you ship?", "shipping.md#3"),
    SampleQuestion("How do I reset my Glow One smart lamp?", "glow-one-reset.md#1"),
    SampleQuestion("Which Wi-Fi network band works with the Glow One?", "glow-one-reset.md#2"),
    SampleQuestion("Is the shop closed on Sundays and holidays?", "opening-hours.md#2"),
    SampleQuestion("Which payment methods do you accept?", "faq.csv#2"),
    SampleQuestion("How do I clean fabric shades?", "lamp-care.md#1"),
    SampleQuestion("退款多少天内会到账？", "退款政策.md#1"),
    SampleQuestion("申请退款需要收据吗？", "退款政策.md#2"),
    SampleQuestion("加急配送怎么收费？", "配送说明.md#2"),
    SampleQuestion("怎么重置智能灯？", "智能灯重置.md#1"),
    SampleQuestion("智能灯怎么连接无线网络？", "智能灯重置.md#2"),
    SampleQuestion("周日和节假日休息吗？", "营业时间.md#2"),
)
