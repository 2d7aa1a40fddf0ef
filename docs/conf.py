"""Settings of the user guide; nothing on a page is loaded from elsewhere."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "flverify"
author = "The flverify developers"
extensions = ["myst_parser", "mathml", "catalogue", "gallery"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True
smartquotes = False  # options and ranges are shown as they are typed

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "flverify"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
