"""`index.html` of a mirror: what is there, for people.

One file without anything from elsewhere: its style and script stand in it, and its policy forbids
the rest. Every row is there without the script, which only filters. Names come from manifests, which
may be a mirror's own, so all of them are escaped. The same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from etfetch.platforms import ANY, PLATFORMS
from etfetch.sizes import size


@dataclass(frozen=True, slots=True)
class Row:
    """An archive of a release; `size` in bytes."""

    package: str
    version: str
    archive: str
    platforms: tuple[str, ...]
    components: tuple[str, ...]
    size: int
    sha256: str


def render(rows: Sequence[Row]) -> str:
    """The whole page, rows in the order they are given."""
    packages = sorted({row.package for row in rows})
    platforms = [p for p in (*PLATFORMS, ANY) if any(p in row.platforms for row in rows)]
    releases = len({(row.package, row.version) for row in rows})
    total = size(sum(row.size for row in rows))
    return _PAGE.format(
        summary=f"{len(rows)} archives of {releases} releases, {total}",
        packages=_options(packages),
        platforms=_options(platforms),
        rows="".join(map(_row, rows)),
        style=_STYLE,
        script=_SCRIPT,
    )


def _row(row: Row) -> str:
    folder = f"{quote(row.package)}/{quote(row.version)}/"
    cells = (
        escape(row.package),
        f'<a href="{folder}manifest.toml">{escape(row.version)}</a>',
        "<br>".join(map(escape, row.platforms)),
        "<br>".join(map(escape, row.components)),
        f'<a href="{folder}{quote(row.archive)}">{escape(row.archive)}</a>',
    )
    words = " ".join((row.package, row.version, *row.platforms, *row.components, row.archive, row.sha256))
    return (
        f'<tr data-words="{escape(words.lower())}" data-package="{escape(row.package)}"'
        f' data-platforms="{escape(" ".join(row.platforms))}">'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + f'<td class="number" title="{row.size} bytes">{size(row.size)}</td>'
        f"<td><code>{escape(row.sha256)}</code></td></tr>\n"
    )


def _options(values: Sequence[str]) -> str:
    return "".join(f'<option value="{escape(value)}">{escape(value)}</option>' for value in values)


_STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 90rem; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; }
form { display: flex; flex-wrap: wrap; gap: .6rem 1.2rem; margin: 1.2rem 0; align-items: end; }
label { display: grid; gap: .2rem; font-size: .85rem; }
input, select { font: inherit; padding: .3rem .5rem; min-width: 11rem; }
input { min-width: 20rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; }
tr { border-bottom: 1px solid #8884; }
th { position: sticky; top: 0; background: Canvas; }
code { font-size: .8rem; overflow-wrap: anywhere; }
td:last-child { max-width: 17rem; }
.number { text-align: right; white-space: nowrap; }
.scroll { overflow-x: auto; }
"""

_SCRIPT = """
const form = document.querySelector("form"), rows = [...document.querySelectorAll("tbody tr")];
const base = document.getElementById("base");
base.textContent = location.href.replace(/[?#].*$/, "").replace(/\\/[^/]*$/, "");
function filter() {
  const words = form.words.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const wanted = form.package.value, platform = form.platform.value;
  let shown = 0;
  for (const row of rows) {
    const { words: text, package: name, platforms } = row.dataset;
    const fits = words.every((word) => text.includes(word)) && (!wanted || name === wanted) &&
      (!platform || platforms.split(" ").includes(platform));
    row.hidden = !fits;
    shown += fits;
  }
  document.getElementById("shown").textContent = `${shown} of ${rows.length} shown`;
  const state = new URLSearchParams(new FormData(form));
  for (const [key, value] of [...state]) if (!value) state.delete(key);
  history.replaceState(null, "", state.size ? `#${state}` : location.pathname + location.search);
}
for (const [key, value] of new URLSearchParams(location.hash.slice(1)))
  if (["words", "package", "platform"].includes(key)) form[key].value = value;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
"""

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<link rel="icon" href="data:,">
<title>etfetch mirror</title>
<style>{style}</style>
</head>
<body>
<h1>etfetch mirror</h1>
<p>{summary}. Use it with <code>ETFETCH_BASE_URL=<span id="base">the address of this folder</span></code>.</p>
<form>
<label>Search <input name="words" type="search" placeholder="version, component, digest …" autofocus></label>
<label>Package <select name="package"><option value="">all</option>{packages}</select></label>
<label>Platform <select name="platform"><option value="">all</option>{platforms}</select></label>
<output id="shown" aria-live="polite"></output>
</form>
<div class="scroll">
<table>
<thead><tr><th scope="col">Package</th><th scope="col">Version</th><th scope="col">Platforms</th>\
<th scope="col">Components</th><th scope="col">Archive</th><th scope="col" class="number">Size</th>\
<th scope="col">SHA-256</th></tr></thead>
<tbody>
{rows}</tbody>
</table>
</div>
<script>{script}</script>
</body>
</html>
"""
