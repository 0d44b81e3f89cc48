import sys

import pytest
from sample import CODEGEN, ENTRY

sys.path.insert(0, str(CODEGEN))


@pytest.fixture
def ops(tmp_path):
    """Writes entries into a folder of their own and returns the folder."""

    def write(text=ENTRY, name="some.yaml"):
        (tmp_path / name).write_text(text)
        return tmp_path

    return write
