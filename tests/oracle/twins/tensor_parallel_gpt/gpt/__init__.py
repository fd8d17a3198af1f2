from gpt.config import GPTConfig, MeshConfig
from gpt.trainer import Trainer

__all__ = ["GPTConfig", "MeshConfig", "Trainer"]
