import pathlib

import pytest

code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", str(pathlib.Path(__file__).parent / "test_dist.py")])
agrees = code == 0
