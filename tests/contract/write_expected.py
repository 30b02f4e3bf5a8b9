"""Write expected/<backend>.json anew from what the adapters make of the recordings: `python -m tests.contract.write_expected`.

Read the difference before committing it: each line says what a recorded answer means.
"""

import asyncio
import json

from adapters import Pool
from tests.contract.cases import CASES, EXPECTED
from tests.contract.stand_in import searches
from tests.contract.test_contract import outcome
from tests.pauses import quick


async def main() -> None:
    with quick():
        for case in CASES:
            found = {}
            for name in searches(case):
                async with Pool() as pool:
                    found[name] = await outcome(case, name, pool)
            lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(v, ensure_ascii=False)}" for n, v in found.items())
            (EXPECTED / f"{case.backend}.json").write_text(f"{{\n{lines}\n}}\n", "utf-8")


if __name__ == "__main__":
    asyncio.run(main())
