from dataclasses import dataclass, field


@dataclass(frozen=True)
class MeshConfig:
    data: int = 4
    tensor: int = 2
    names: tuple[str, str] = ("data", "tensor")


@dataclass(frozen=True)
class TrainConfig:
    vocab: int = 24
    width: int = 8
    length: int = 6
    batch: int = 16
    accumulate: int = 2
    lr: float = 0.2
    mesh: MeshConfig = field(default_factory=MeshConfig)
