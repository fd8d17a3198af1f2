"""The worker in the user's Python: imports a program, traces its entry, and writes its findings as JSON.

It needs nothing but the standard library and that Python's own JAX, and reads no module of MeshLens: `start.py` loads
this folder under a name of its own, so that no module of the user can be taken for one of these.
"""
