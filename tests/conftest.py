"""What every test shares: how hypothesis searches, and that Ctrl-C is heard."""

import os
import signal

from hypothesis import settings

# A shared machine is slow by fits, so no deadline. In CI ("ci" is hypothesis' own profile) the
# search is the same every time; at home it is a new one, and remembers what failed.
settings.register_profile("home", deadline=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")

# A shell starts what it runs in the background deaf to Ctrl-C, and so would be all that we start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
