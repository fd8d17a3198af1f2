"""The worker in the user's Python: imports a program, traces its entry, and writes the results as JSON.

It needs only the standard library and the JAX of that Python, and imports no module of MeshLens. `start.py` loads
this folder under a unique name, so that the user's modules cannot replace its modules.
"""
