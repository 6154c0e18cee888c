"""Where the packages and their files lie. Everything else about the distribution is in pyproject.toml."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["icore_kernel", "icore_kernel.*"]), *find_packages("dsl"), "icore_kernel.spec"],
    # The theory is a folder of the checkout; in an installation it lies inside the kernel.
    package_dir={"icore_dsl": "dsl/icore_dsl", "icore_kernel.spec": "spec"},
    package_data={
        "icore_kernel": ["py.typed", "*.icore", "report/*.md"],
        "icore_kernel.spec": ["*.icore", "*.md"],
        "icore_dsl": ["py.typed", "*.lark", "*.json"],
    },
    include_package_data=False,
)
