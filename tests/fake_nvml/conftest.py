"""The fixture of the tests of the fake NVML."""
import pytest

from fake_runner import Fake


@pytest.fixture
def fake(tmp_path):
    """fake(scenario, profile='r580', **env): a Fake; a scenario of None sets no FAKE_NVML_SCENARIO."""
    count = [0]

    def make(content, profile='r580', **env):
        count[0] += 1
        folder = tmp_path / str(count[0])
        folder.mkdir()
        return Fake(folder, content, profile, env)
    return make
