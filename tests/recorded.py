"""The recorded Dify, to answer on a real socket."""

from tests.contract.stand_in import recording
from tests.service import reply

FOUND = reply(body=recording("dify", "v1.14.2__semantic")["response"])
DATASET = reply(body=recording("dify", "v1.14.2__get-dataset-vectors")["response"])
