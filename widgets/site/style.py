"""The widgets' style sheet, for pages that set light or dark themselves.

<body data-theme="light">    light
<body data-theme="dark">     dark
<body data-theme="auto">     as the reader's system is, and without the attribute too
"""

from widgets import palette

STAGE = ".lab-stage"


def sheet() -> str:
    dark = _colours(palette.DARK)
    by_system = f'body:not([data-theme="light"]) {STAGE} {dark}'
    return "\n".join(
        [
            f"{STAGE} {_colours(palette.LIGHT)}",
            f'body[data-theme="dark"] {STAGE} {dark}',
            f"@media (prefers-color-scheme: dark) {{{by_system}}}",
            palette.looks(),
            palette.read("stage.css"),
        ]
    )


def _colours(named: dict[str, str]) -> str:
    return "{" + "".join(f"--{name}:{colour};" for name, colour in named.items()) + "}"
