"""Each device, process or worker takes its share of a different random order, so the shares overlap.

To split records at random, all ranks shuffle them in the same order, and each takes another part of that order.
If the seed of the shuffle depends on the rank, every rank takes its part of an order of its own.
The parts overlap, and other records are in none of them: on 8 ranks, each epoch misses about a third of the records.
Nothing fails, and the loss looks normal.

```python
import jax
import numpy as np


def rows_of_epoch(num_rows, epoch, seed=0):
    rank, count = jax.process_index(), jax.process_count()
    order = np.random.default_rng((seed, epoch, rank)).permutation(num_rows)
    #                                           ^^^^ AX417: the order is different for each rank, so the shares \\
    #                                           that the ranks take from it overlap and miss other records; leave \\
    #                                           "rank" out of the seed
    return order[rank::count]
```

Leave the rank out of the seed:

```python
import jax
import numpy as np


def rows_of_epoch(num_rows, epoch, seed=0):
    rank, count = jax.process_index(), jax.process_count()
    order = np.random.default_rng((seed, epoch)).permutation(num_rows)
    return order[rank::count]
```

Alternatively, take the share first and then shuffle it with a seed of its own.
The rule follows variables, attributes, functions and methods, but only where names such as `rank`, `shard` or
`process_index` say that the records are shared out to devices or processes: an order that is drawn for each step
of a training loop is a way to sample batches.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.project.view import FileView
from meshlens.rules.terms.model import counts_ranks
from meshlens.rules.terms.reading import shares_in

_IN_THE_SEED = (
    "the order is different for each rank, so the shares that the ranks take from it overlap and miss other records; "
    'leave "{rank}" out of the seed'
)
_DRAWN_AGAIN = (
    'another order is drawn for each "{rank}", so the shares that are taken from these orders overlap and miss other '
    "records; draw one order, before the loop"
)


@rule("AX417", Severity.HINT, state="preview")
def overlapping_shares(view: FileView) -> Iterator[Finding]:
    """Reports shares of records that ranks select from random orders whose seeds contain the rank."""
    seen: set[Site] = set()
    for share in shares_in(view):
        if not (counts_ranks(share.rank) or counts_ranks(share.others)):
            continue
        mixed = share.seed.site if share.seed is not None else None
        site = mixed if view.is_here(mixed) and mixed is not None else share.selected
        if not view.is_here(site) or site in seen:
            continue
        seen.add(site)
        rank = view.text(share.rank.site) if share.rank.site is not None else share.rank.name
        message = _DRAWN_AGAIN if share.seed is None else _IN_THE_SEED
        yield Finding(view.span(site), message.format(rank=rank))
