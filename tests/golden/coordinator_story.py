"""What the stories of the two coordinators share: the check of a page, and steps about writes."""

import os

from engine.errors import ErrorCode


def check_page(page, story):
    """Each step prints the lines after it. With GOLDEN=write the page gets what was printed."""
    told, written = page.read_text(), []
    for line in told.splitlines():
        if line.startswith("> "):
            written += [line, *(f"  {each}" for each in story.step(line[2:]))]
        elif not line or line.startswith("#"):
            written.append(line)
    text = "\n".join(written) + "\n"
    if os.environ.get("GOLDEN") == "write":
        page.write_text(text)
    assert text == told


class Steps:
    """Steps on `desk`, the shell around a coordinator."""

    def step(self, line):
        name, *words = line.split()
        self.lines = []
        self.desk.now += 1
        action = getattr(self, name.replace("-", "_"), None)
        if action is not None:
            action(*words)
        else:
            self.ask(name, *words)
        return self.lines

    def hold(self):
        self.desk.held = True

    def write(self):
        self.desk.held = False
        while self.desk.waiting:
            self.desk.finish()

    def fail(self, error):
        self.desk.finish(ErrorCode[error.lower()])

    def wait(self, milliseconds):
        self.desk.advance(int(milliseconds))
