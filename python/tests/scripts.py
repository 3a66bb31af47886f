"""Programs of their own, for what one interpreter can be asked only once."""

import subprocess
import sys
import textwrap


def run_python(text, *, timeout=60, check=True):
    """Runs a program, and expects that it ends well unless check is False."""
    outcome = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if check:
        assert outcome.returncode == 0, f"{outcome.returncode}\n{outcome.stdout}\n{outcome.stderr}"
    return outcome
