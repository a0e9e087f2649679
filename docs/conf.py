"""Settings of the documentation."""

import re
import sys
import warnings
from pathlib import Path

import loadstone

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

from class_members import methods_of, properties_of  # noqa: E402
from registry_tables import write_all  # noqa: E402

#: Lists and tables that pages include; made here, because autosummary reads source files.
write_all(HERE)

project = "loadstone"
author = "The loadstone developers"
copyright = "The loadstone developers"
release = loadstone.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = [
    "_build",
    "_made_*",
    "measured",
    "_templates",
    "examples",
    "recipes",
    "gallery/GALLERY_HEADER.rst",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

templates_path = ["_templates"]
autosummary_generate = ["_made_api.md"]
autosummary_context = {"methods_of": methods_of, "properties_of": properties_of}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "loadstone"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "logo": {"text": "loadstone"},
    "secondary_sidebar_items": ["page-toc"],
}
html_show_sourcelink = False
#: Pages at the top have no siblings to list.
html_sidebars = {page: [] for page in ("index", "getting_started", "how_to_choose")}


def _without_path(message, category, *_):
    return f"{category.__name__}: {message}\n"


#: Warnings of examples stand on their pages: the place where the builder keeps them does not.
warnings.formatwarning = _without_path

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_\w+\.py$",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 10_000,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "copyfile_regex": "",
}
suppress_warnings = ["config.cache"]


def _keep_underscores(app, what, name, obj, options, lines):
    """Shapes such as ``(n_components_, n_features)`` are no links, whatever docutils thinks."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"(?<![`*\w])(n_\w*[A-Za-z])_(?![\w`*])", r"\1\\_", line)


def setup(app):
    # After numpydoc, which runs at the usual priority.
    app.connect("autodoc-process-docstring", _keep_underscores, priority=900)
