"""What all tests share: how Hypothesis runs, and that tests with Spark share one worker and so one Java."""

import logging

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

# Every run tries new examples, so a failure prints the line that repeats it.
settings.register_profile("ci", deadline=None, derandomize=False, print_blob=True, database=None)
settings.load_profile("ci")

# Tests make invalid typed literals on purpose, and rdflib logs a traceback for each.
logging.getLogger("rdflib.term").setLevel(logging.ERROR)


def pytest_configure(config: pytest.Config) -> None:
    set_hypothesis_home_dir(config.rootpath / ".pytest_cache" / "hypothesis")


@pytest.hookimpl(tryfirst=True)  # Before the plugin that keeps groups together looks at the markers.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
