from dataclasses import dataclass, field


@dataclass(frozen=True)
class MeshConfig:
    data: int = 2
    model: int = 4
    data_axis: str = "data"
    model_axis: str = "model"

    @property
    def shape(self):
        return (self.data, self.model)

    @property
    def names(self):
        return (self.data_axis, self.model_axis)


@dataclass(frozen=True)
class GPTConfig:
    vocab: int = 64
    d_model: int = 32
    n_head: int = 8
    n_layer: int = 2
    block_size: int = 16
    batch: int = 8
    lr: float = 0.05
    mesh: MeshConfig = field(default_factory=MeshConfig)
