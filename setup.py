"""Where the packages and their files lie, and the C kernel. Everything else about the distribution is in pyproject.toml."""

import sys

from setuptools import Extension, find_packages, setup

SOURCES = (
    "forks", "graph", "judging", "looking", "module", "module_after", "module_found", "module_graph",
    "module_kept", "module_tables", "plain", "plain_threads", "planes", "reach", "search", "steps",
    "store",
)  # fmt: skip
HEADERS = ("forks", "graph", "module", "plain", "planes", "reach", "search", "store")
FOLDER = "icore_kernel/explore/csrc"

# Optional: where there is no compiler, or it fails, the installation succeeds without the kernel and searches are done in NumPy.
# One build serves every Python from 3.11 on (the limited API, see module.h).
KERNEL = Extension(
    "icore_kernel.explore._kernel",
    sources=[f"{FOLDER}/{name}.c" for name in SOURCES],
    depends=[f"{FOLDER}/{name}.h" for name in HEADERS],
    extra_compile_args=[] if sys.platform == "win32" else ["-O3", "-std=c11", "-pthread"],
    extra_link_args=[] if sys.platform == "win32" else ["-pthread"],
    py_limited_api=True,
    optional=True,
)

setup(
    packages=[*find_packages(include=["icore_kernel", "icore_kernel.*"]), *find_packages("dsl"), "icore_kernel.spec"],
    # The theory is a folder of the checkout; in an installation it lies inside the kernel.
    package_dir={"icore_dsl": "dsl/icore_dsl", "icore_kernel.spec": "spec"},
    package_data={
        "icore_kernel": ["py.typed", "*.icore", "report/*.md", "record/*.md", "hosts/*.md", "explore/*.pyi"],
        "icore_kernel.spec": ["*.icore", "*.md"],
        "icore_dsl": ["py.typed", "*.lark", "*.json"],
    },
    include_package_data=False,
    ext_modules=[KERNEL],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
