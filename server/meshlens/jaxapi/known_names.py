"""Names of libraries and of Python's own modules that the interpreter knows, apart from JAX's tables of callables."""

from __future__ import annotations

HARMLESS_DECORATORS = frozenset(
    "gin hydra click absl pytest typing abc functools contextlib beartype jaxtyping typeguard dataclasses tyro wandb "
    "chex unittest parameterized atexit flax haiku numba overrides typing_extensions property staticmethod".split()
)
"""Libraries whose decorators leave a function's use of axes unchanged."""
LIBRARIES_WITH_OBJECTS = frozenset({"jax", "flax", "haiku", "equinox", "optax", "chex", "objax", "haliax", "types"})
"""Libraries whose callables return objects that the interpreter identifies by the callable's name."""
LIBRARIES_WITHOUT_REDUCTIONS = frozenset(
    "optax flax jax haiku equinox chex numpy objax jaxopt lineax optimistix dataclasses".split()
)
"""Libraries whose callables do not reduce gradients over devices unless a table says so."""
MODULES_OF_ARRAYS = ("jax.numpy.", "jax.lax.", "jax.nn.", "jax.ops.")
"""Modules whose functions return arrays."""
MODULES_WITHOUT_CALLS = (
    "jax.numpy.",
    "numpy.",
    "jax.nn.",
    "jax.random.",
    "jax.lax.",
    "os.",
    "logging.",
    "absl.logging.",
)
"""Modules whose functions do not call the functions that they are passed."""

NESTED_TABLES = frozenset(
    {
        "ml_collections.ConfigDict",
        "ml_collections.FrozenConfigDict",
        "ml_collections.config_dict.ConfigDict",
        "ml_collections.config_dict.FrozenConfigDict",
        "ml_collections.config_dict.create",
        "ml_collections.config_dict.config_dict.ConfigDict",
        "ml_collections.config_dict.config_dict.FrozenConfigDict",
        "ml_collections.config_dict.config_dict.create",
        "omegaconf.OmegaConf.create",
        "omegaconf.OmegaConf.structured",
        "omegaconf.DictConfig",
        "easydict.EasyDict",
        "addict.Dict",
        "munch.munchify",
        "munch.Munch.fromDict",
    }
)
"""Callables that turn a dictionary and the dictionaries in it into tables with attributes."""
FLAT_TABLES = frozenset({"types.SimpleNamespace", "argparse.Namespace", "munch.Munch", "box.Box"})
"""Callables that turn only their own arguments into a table with attributes."""
UNKNOWN_ENTRIES = frozenset(
    f"ml_collections{inner}.{name}"
    for inner in ("", ".config_dict", ".config_dict.config_dict")
    for name in ("placeholder", "required_placeholder", "FieldReference")
)
"""Callables that return a placeholder for a table entry whose value is unknown."""
TABLES = NESTED_TABLES | FLAT_TABLES | UNKNOWN_ENTRIES
TABLES |= {"omegaconf.OmegaConf.merge", "vars", "omegaconf.OmegaConf.to_container"}
"""All callables that make tables with attributes, or their entries."""
CONFIGURATION_WORDS = frozenset(
    "ConfigDict FrozenConfigDict config_dict get_config SimpleNamespace Namespace OmegaConf EasyDict".split()
)
"""Names that hint at objects with axis names; a function that mentions such a name is always worth running."""
OPTIMIZER_WORDS = frozenset({"GradientTransformation", "GradientTransformationExtraArgs"})
"""Names of classes whose objects contain workspace functions that may later run in a map."""

STRING_ENUMS = frozenset({"enum.StrEnum", "strenum.StrEnum"})
"""Enums whose members are strings."""
ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.Flag", "enum.IntFlag"})
"""Other enums."""
AS_DICTIONARY = frozenset({"vars", "dataclasses.asdict", "attr.asdict", "attrs.asdict"})
"""Callables that return the attributes of an object as a dictionary."""
REPLACES = frozenset({"dataclasses.replace", "copy.replace", "attr.evolve", "attrs.evolve"})
"""Functions that copy an object with some attributes replaced."""

FIXTURES = frozenset({"pytest.fixture", "pytest_asyncio.fixture"})
"""Decorators that define pytest fixtures."""
PARAMETRIZE = "pytest.mark.parametrize"
NOT_EXPECTED_TO_PASS = frozenset({"pytest.mark.xfail", "pytest.mark.skip"})
"""Marks of tests that are not run, or are expected to fail."""
PARAM = "pytest.param"
RAISES = "pytest.raises"
OBJECTS_OF_PYTEST = frozenset({PARAM, RAISES})
"""Callables of pytest whose results hold their arguments."""
ENDS_TEST = frozenset({"pytest.skip", "pytest.xfail", "pytest.fail", "pytest.exit"})
"""Functions that end the test that calls them."""
SKIPS_TEST = "skipTest"
"""The method of `unittest` that does the same."""
REQUEST = "pytest.FixtureRequest"

OPTIMIZERS_IN_PLACE = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})
"""Classes whose `update` changes the parameters of the caller's model in place."""

FLAX_METHODS = {
    "flax.linen.Module": frozenset(
        {"apply", "init", "init_with_output", "lazy_init", "bind", "is_initializing", "param"}
    ),
    "flax.nnx.Module": frozenset({"eval", "train", "set_attributes"}),
}
"""The methods that a user's module inherits from flax, by base class."""
