"""Links that are right in the repository are right on the site, too.

    [the log](../engine/storage/log.py)                 no page: to the repository, if it is known
    [The offset](../labs/01_storage.ipynb#The-offset)   a page, with its own anchor
    [high watermark](../docs/glossary.md#high-watermark "The offset ...")    a term, which lights
                                                        up in a picture (terms.js)

They are written for readers of the repository; here they are looked up from where the source of
the page lies in it. A link to what is not there is left to MyST, whose warning breaks the build.

Where nobody knows the repository's address (address.py), a link to it is plain text.
"""

import posixpath
from pathlib import Path
from typing import Any

from address import address
from docutils import nodes
from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

ROOT = Path(__file__).resolve().parents[2]
BRANCH = "main"
PAGES = {"labs/recorded": "recordings/index"}  # what has a page that is not made from it


class Links(SphinxPostTransform):
    default_priority = 8  # just before MyST's own

    def run(self, **_: Any) -> None:
        for node in list(self.document.findall(pending_xref)):
            if node["reftype"] == "myst":
                self._look_up(node)

    def _look_up(self, node: pending_xref) -> None:
        if node["refdomain"] == "doc":
            anchor = node["reftargetid"]
        else:
            target, _, anchor = node["reftarget"].partition("#")
            path = posixpath.normpath(posixpath.join(posixpath.dirname(node["refdoc"]), target))
            if not target or path.startswith("..") or not (ROOT / path).exists():
                return
            page = self._page(path)
            if page is None:
                node.replace_self(_outside(node, path, anchor))
                return
            node["refdomain"], node["reftarget"] = "doc", page
        node["reftargetid"] = default_slugify(anchor) if anchor else None

    def _page(self, path: str) -> str | None:
        name = PAGES.get(path) or posixpath.splitext(path)[0]
        return name if name in self.env.all_docs else None


def _outside(node: pending_xref, path: str, anchor: str) -> nodes.Element:
    if not (repository := address()):
        return nodes.inline("", "", *(child.deepcopy() for child in node.children))
    kind = "tree" if (ROOT / path).is_dir() else "blob"
    where = f"{repository}/{kind}/{BRANCH}/{path}" + (f"#{anchor}" if anchor else "")
    link = nodes.reference("", "", refuri=where, internal=False)
    link += [child.deepcopy() for child in node.children]
    return link


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(Links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
