"""The repository's address on the web: the one that build.py was given, or else that of the git
remote `origin`. A clone of a folder has none.
"""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GIVEN = "BROKERLAB_REPOSITORY"  # the variable by which build.py tells the address to Sphinx
REMOTE = re.compile(
    r"(?:https?://|ssh://)?(?:[^@/]+@)?([\w.-]+\.[a-z]+)(?::\d+)?[:/](.+?)(?:\.git)?/?"
)


def address() -> str:
    """https://HOST/OWNER/NAME, or "" if nobody knows it."""
    given = os.environ.get(GIVEN)
    return on_the_web(origin() if given is None else given)


def origin() -> str:
    """Where this clone comes from, in git's words; "" where there is no git, or no remote."""
    command = ["git", "config", "--get", "remote.origin.url"]
    try:
        return subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip()
    except FileNotFoundError:
        return ""


def on_the_web(remote: str) -> str:
    """git@github.com:a/b.git and https://github.com/a/b are one place; a folder is none."""
    found = REMOTE.fullmatch(remote)
    return f"https://{found[1]}/{found[2]}" if found else ""
