from typing import NamedTuple


class Settings(NamedTuple):
    stages: int = 4
    replicas: int = 2
    microbatches: int = 6
    width: int = 8
    layers_per_stage: int = 2
    stage_axis: str = "stage"
    replica_axis: str = "replica"
