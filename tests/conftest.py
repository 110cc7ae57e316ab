"""What every test shares: how hypothesis searches."""

import os

from hypothesis import settings

# A shared machine is slow by fits, so no deadline. In CI ("ci" is hypothesis' own profile) the
# search is the same every time; at home it is a new one, and remembers what failed.
settings.register_profile("home", deadline=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")
