"""The user's key: random bytes, created once, that seal the caches, so that nobody else can forge a cache."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from meshlens.caches.own_files import NotOurs, clear_parts, read_file, write_part

_SIZE = 32
_SETTLED_SECONDS = 60.0


def user_key(root: Path) -> bytes:
    """Returns the key in the folder of all caches, creating it if there is none.

    Raises:
        NotOurs: it is a link, another user owns it, or others may read or write it.
        OSError: it can be neither read nor created.
    """
    path = root / "key"
    key = _read(path)
    if key is None:
        part = write_part(path, os.urandom(_SIZE))
        try:
            # Unlike a rename, a link never replaces a key that another run created meanwhile.
            os.link(part, path)
        except FileExistsError:
            pass
        except OSError:
            os.replace(part, path)
        finally:
            with suppress(OSError):
                part.unlink()
            clear_parts(root)
        key = _read(path)
    if key is None:
        raise NotOurs("the key has disappeared")
    return key


def _read(path: Path) -> bytes | None:
    """Returns the key; None if it is missing, or incomplete and no longer being written.

    Such an incomplete key is deleted; one that another run may still be writing raises `NotOurs`.
    """
    key = read_file(path, _SIZE)
    if key is None:
        return None
    status = path.stat()
    if os.name == "posix" and status.st_mode & 0o077:
        raise NotOurs("other users can read the key")
    if len(key) == _SIZE:
        return key
    if time.time() - status.st_mtime > _SETTLED_SECONDS:
        path.unlink()
        return None
    raise NotOurs("the key is being written")
