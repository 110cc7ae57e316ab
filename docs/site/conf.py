"""How Sphinx makes the pages. build.py calls it, and puts the sources of the pages together in one
folder before: labs/ and docs/ as they lie in the repository, and what is in here.
"""

from address import address

project = "Broker Lab"
author = "the Broker Lab contributors"
copyright = author

extensions = ["myst_nb", "repository", "player"]
html_theme = "furo"
html_title = project
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css", "widgets.css"]
html_js_files = ["stage.js", "player.js"]
html_show_sphinx = html_show_sourcelink = html_copy_source = False
html_theme_options = {
    "footer_icons": [],
    **({"source_repository": address()} if address() else {}),
    "top_of_page_buttons": [],
    "light_css_variables": {
        "color-brand-primary": "#0072b2",
        "color-brand-content": "#0072b2",
        "color-brand-visited": "#0072b2",
    },
    "dark_css_variables": {
        "color-brand-primary": "#4aa3df",
        "color-brand-content": "#4aa3df",
        "color-brand-visited": "#4aa3df",
    },
}

# What a lab has shown is shown; nothing is run. Nor is anything fetched from elsewhere, as the
# script for widgets would be: of those, stills were kept.
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
nb_merge_streams = True
suppress_warnings = ["mystnb.unknown_mime_type"]  # verdicts as data: they are there as HTML, too
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "colon_fence"]
