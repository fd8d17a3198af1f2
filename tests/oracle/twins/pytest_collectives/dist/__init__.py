from dist.norms import global_norm, standardize
from dist.topk import sharded_topk

__all__ = ["global_norm", "sharded_topk", "standardize"]
