# SPDX-License-Identifier: MIT
# Draws the folded stacks of `xmc-heap trace --folded` or `--allocations`: a bar for each frame, as wide as what is above it
# together. With -v source=FILE frames of "<kernel>" show their line of the file.
#   xmc-heap trace --folded FILE | awk -v title=… -v unit=bytes -f svg.awk -f flame.awk
function amount(value) {
  if (unit != "bytes") return sprintf("%d", value) " " unit
  if (value >= 1048576) return sprintf("%.3g MiB", value / 1048576)
  if (value >= 1024) return sprintf("%.3g KiB", value / 1024)
  return sprintf("%d B", value)
}
# A frame's text, cut to what fits a bar of this width
function fitted(what, room) {
  room = int(room / 7.6) - 1
  if (room < 3) return ""
  return length(what) <= room ? what : substr(what, 1, room - 1) "…"
}
function bar(from, size, depth, name,   x, y, w, label, n) {
  x = left + from / all * (right - left)
  w = size / all * (right - left)
  y = bottom - row * depth
  label = name
  if (name ~ /^<kernel>:[0-9]+$/) {
    n = substr(name, 10) + 0
    if (n in line) label = name "  " line[n]
  }
  printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"%s\"><title>%s: %s, %.1f %%</title></rect>\n", x, y, (w > 1 ? w - 1 : w), row - 2, colour[(depth > colours ? colours : depth)], escape(label), amount(size), 100 * size / all
  if (fitted(label, w) != "") printf "<text x=\"%.1f\" y=\"%.1f\" font-size=\"12\" style=\"fill:#1b1f24\">%s</text>\n", x + 6, y + row / 2 + 4, escape(fitted(label, w))
}
BEGIN {
  width = 860; left = 20; right = 840; top = 76; row = 26
  colours = split("#f0b35c #e69f00 #f4c27a #f8d9a8", colour, " ")
  while (source != "" && (getline text_of_line < source) > 0) {
    n++
    sub(/^ +/, "", text_of_line)
    line[n] = text_of_line
  }
}
{
  size = $NF + 0
  sub(/ [0-9]+$/, "")
  count[++stacks] = size
  stack[stacks] = $0
  all += size
  if (split($0, parts, ";") + 1 > depths) depths = split($0, parts, ";") + 1
}
END {
  if (!all) { print "flame.awk: no stack has anything" >"/dev/stderr"; exit 1 }
  bottom = top + row * depths
  begin_page(width, bottom + 20, title, amount(all) " in all; hover over a bar for its share")
  # Stacks that begin alike stand side by side, because the input is sorted by site.
  bar(0, all, 1, "all")
  for (depth = 1; depth < depths; depth++) {
    start = at = 0
    open = ""
    for (s = 1; s <= stacks + 1; s++) {
      n = split(s <= stacks ? stack[s] : "", parts, ";")
      prefix = ""
      for (i = 1; i <= depth && i <= n; i++) prefix = prefix ";" parts[i]
      if (n < depth) prefix = ""
      if (prefix != open) {
        if (open != "" && at > start) { split(open, parts, ";"); bar(start, at - start, depth + 1, parts[depth + 1]) }
        start = at
        open = prefix
      }
      if (s <= stacks) at += count[s]
    }
  }
  print "</svg>"
}
