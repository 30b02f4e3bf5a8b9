"""The command line's arguments for the recorded Dify."""

from tests.contract.cases import case_of

CASE = case_of("dify")
ADDRESS = ["--backend", "dify", "--api-base-url", "http://service.test/v1", "--dataset-id", CASE.creation["dataset_id"]]
