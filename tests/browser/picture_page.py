"""A widget on a page without JupyterLab: its scenes are drawn by stage.js, in any width.

    view (Python) ── traits ──> Model ── stage.js ──> the page
         ^                                               │
         └────────────── {"width": 842} <────────────────┘

There is no kernel, so a picture is there in milliseconds. What the page says goes to the view's own
methods, and the view is laid out for the width that the page has.
"""

from typing import Any

from playwright.sync_api import Page

from tests.browser.jupyter import ROOT
from widgets import palette
from widgets.stage import SceneWidget

FINDER = (ROOT / "tests" / "browser" / "text_finder.js").read_text(encoding="utf-8")
LEAST = 11  # CSS px: no text is smaller
NAMES = ("scene", "controls", "name", "about", "said", "trouble")
PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><style>
body { margin: 0; font: 13px/1.4 system-ui, sans-serif; background: var(--jp-layout-color1); }
body[data-jp-theme-light="false"] { --jp-layout-color1: #111; --jp-ui-font-color1: #eee; }
main { margin: 8px 0 8px 8px; width: WIDTHpx; }
STYLE</style></head><body data-jp-theme-light="LIGHT"><main></main><script>
SCRIPT
class Model {
  constructor(traits) { this.traits = traits; this.listeners = {}; }
  get(name) { return this.traits[name]; }
  on(name, listener) { (this.listeners[name] ??= []).push(listener); }
  off() {}
  send(message) {
    heard(message).then((traits) => {
      this.tell(traits);
      if ("width" in message) window.laidOut = message.width;
    });
  }
  tell(traits) {
    for (const [name, value] of Object.entries(traits)) {
      if (JSON.stringify(this.traits[name]) === JSON.stringify(value)) continue;
      this.traits[name] = value;
      for (const listener of this.listeners[`change:${name}`] ?? []) listener.call(this);
    }
  }
}
window.laidOut = 0;
window.show = (traits) => {
  window.model = new Model(traits);
  brokerlab.render({ model, el: document.querySelector("main") });
};
</script></body></html>"""


AT_REST = ".lab-stage .lab-scene * { transition: none !important; animation: none !important; }"


class PicturePage:
    """A page with one widget. Nothing glides in it, unless it `moves`."""

    def __init__(
        self,
        page: Page,
        view: SceneWidget,
        width: int,
        *,
        dark: bool = False,
        moves: bool = False,
    ) -> None:
        self.page, self.view = page, view
        page.expose_function("heard", self._heard)
        script = palette.script().replace("export default", "window.brokerlab =")
        style = str(view._css) if moves else f"{AT_REST}\n{view._css}"
        html = PAGE.replace("SCRIPT", script).replace("STYLE", style)
        html = html.replace("WIDTH", str(width))
        page.set_content(html.replace("LIGHT", "false" if dark else "true"))
        page.evaluate("(traits) => show(traits)", self.traits())
        self.settle()

    def traits(self) -> dict[str, Any]:
        return {name: getattr(self.view, name) for name in NAMES}

    def _heard(self, message: dict[str, Any]) -> dict[str, Any]:
        """As a kernel does, but nobody watches: no thread is started."""
        if "watch" not in message:
            self.view._heard(self.view, message, None)
        return self.traits()

    def darken(self, dark: bool) -> None:
        light = "false" if dark else "true"
        self.page.evaluate("(it) => (document.body.dataset.jpThemeLight = it)", light)

    def resize(self, width: int) -> None:
        self.page.evaluate(
            "(it) => (document.querySelector('main').style.width = it)", f"{width}px"
        )
        self.settle()

    def again(self) -> None:
        """Show what the view shows now."""
        self.page.evaluate("(traits) => model.tell(traits)", self.traits())

    def settle(self) -> None:
        """Wait until the picture is laid out for the width that the page has."""
        self.page.wait_for_function(
            "() => laidOut === document.querySelector('.lab-frame').clientWidth"
        )

    def unreadable(self) -> list[str]:
        """A sentence about each text that can't be read."""
        found: list[str] = self.page.evaluate(f"({FINDER})({LEAST})")
        return found
