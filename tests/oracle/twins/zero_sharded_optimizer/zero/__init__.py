from .optimizer import ShardedAdam
from .step import make_train_step

__all__ = ["ShardedAdam", "make_train_step"]
