# SPDX-License-Identifier: MIT
# What the drawings of bench/plot share: the page, its colours in light and dark, texts. The colours (of Okabe and Ito) can be
# told apart by colour-blind people. This allocator has class us, others have other.
function escape(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
function text(x, y, class, what) { printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class, escape(what) }
# A time given in microseconds, in the unit that suits it
function duration(value) {
  if (value >= 1e6) return sprintf("%.3g s", value / 1e6)
  if (value >= 1000) return sprintf("%.3g ms", value / 1000)
  if (value >= 1) return sprintf("%.3g µs", value)
  if (value >= 0.001) return sprintf("%.3g ns", value * 1000)
  return sprintf("%.3g ps", value * 1e6)
}
function begin_page(width, height, title, subtitle) {
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"DejaVu Sans, sans-serif\" font-size=\"13\">\n", width, height, width, height
  print "<style>"
  print ".page{fill:#fff}.t{font-size:19px;font-weight:bold}text{fill:#24292f}.m{fill:#59636e}.us{fill:#0072b2}text.us{font-weight:bold}"
  print ".other{fill:#9aa3ad}.cuda{fill:#e69f00}text.cuda{fill:#8a5a00}text.other{fill:#59636e}.e{text-anchor:end}.c{text-anchor:middle}"
  print ".grid{stroke:#d8dee4;fill:none}.floor{stroke:#59636e;stroke-width:2}path.line{fill:none;stroke:#9aa3ad;stroke-width:1.5}path.us{stroke:#0072b2;stroke-width:3}path.cuda{stroke:#e69f00;stroke-width:2}"
  print "@media (prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#e6edf3}.m,text.other{fill:#9ea7b3}.us{fill:#56b4e9}.other{fill:#858d97}"
  print "text.cuda{fill:#e69f00}.grid{stroke:#30363d}.floor{stroke:#9ea7b3}path.line{stroke:#858d97}path.us{stroke:#56b4e9}path.cuda{stroke:#e69f00}}"
  print "</style>"
  printf "<rect width=\"%d\" height=\"%d\" class=\"page\"/>\n", width, height
  text(20, 34, "t", title)
  text(20, 56, "m", subtitle)
}
