# SPDX-License-Identifier: MIT
# Draws a table of bench/plot as dots on a logarithmic axis, one row a line of the table: this allocator, the other ones, and CUDA's
# malloc. What is written at the right of a row names the best other one. Each kind
# of dot has its own size.
#   awk -v title=… -v axis=… -v better=… -v unit=time -f svg.awk -f dots.awk FILE.csv        microseconds
#   … -v unit=share                                                              percent: drawn is 100 / percent
BEGIN {
  FS = ","
  ours = "this allocator"; floor = "no allocator"; cuda = "CUDA device malloc"
  width = 860; left = 174; right = 650; top = 96; pitch = 27
}
function number(value) {
  if (unit == "share") return sprintf("%.2f", value)
  return duration(value)
}
function place(value) { return left + log(value / low) / log(high / low) * (right - left) }
function dot(row, column, radius, class) {
  printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" class=\"%s\"><title>%s, %s: %s</title></circle>\n",
    place(value[row, column]), top + row * pitch, radius, class, escape(name[column]), label[row], number(value[row, column])
}
NR == 1 {
  for (c = 2; c <= NF; c++) {
    name[c] = $c
    if ($c == ours) us = c
  }
  columns = NF
  next
}
{
  label[++rows] = unit == "share" ? ($1 < 1024 ? $1 " B" : $1 / 1024 " KiB") : $1
  for (c = 2; c <= NF; c++) {
    if ($c == "" || name[c] ~ /:/) continue # a further row of one allocator
    v = value[rows, c] = unit == "share" ? 100 / $c : $c + 0
    if (!smallest || v < smallest) smallest = v
    if (v > largest) largest = v
    if (c != us && name[c] != floor && (!best[rows] || v < value[rows, best[rows]])) best[rows] = c
  }
}
END {
  low = unit == "share" ? 1 : 5
  if (smallest < low) low = smallest
  high = largest * 1.15
  height = top + (rows + 1) * pitch + 34
  begin_page(width, height, title, axis)
  bottom = top + rows * pitch + 16
  # the axis: decades for a long one, else 1, 2, 5
  for (decade = 0.1; decade <= high; decade *= 10)
    for (i = 1; i <= (high / low > 1000 ? 1 : 3); i++) {
      tick = decade * (i == 1 ? 1 : i == 2 ? 2 : 5)
      if (tick < low * 0.999 || tick > high) continue
      printf "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", place(tick), top + 8, bottom
      if (unit == "share") text(place(tick), bottom + 18, "m c", tick "")
      else text(place(tick), bottom + 18, "m c", duration(tick))
    }
  text(right + 20, top + 13, "m", better)
  for (r = 1; r <= rows; r++) {
    y = top + r * pitch
    text(left - 14, y + 4.5, "e", label[r])
    printf "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", left, y, right
    dot(r, us, 7, "us") # first, so that it hides no other one
    for (c = 2; c <= columns; c++) {
      if (!((r, c) in value) || c == us) continue
      if (name[c] == floor)
        printf "<path class=\"floor\" d=\"M%.1f %.1fv12\"><title>%s, %s: %s</title></path>\n", place(value[r, c]), y - 6, name[c], label[r], number(value[r, c])
      else
        dot(r, c, name[c] == cuda ? 5.5 : 4.5, name[c] == cuda ? "cuda" : "other")
    }
    if (best[r]) {
      ratio = value[r, best[r]] / value[r, us]
      if (ratio >= 1000) ratio = sprintf("%d,%03d", ratio / 1000, ratio % 1000)
      else ratio = sprintf(unit == "share" ? "%.2f" : ratio < 10 ? "%.1f" : "%.0f", ratio)
      text(right + 20, y + 4.5, "", name[best[r]] ", " ratio " ×")
    }
  }
  # The first row's dots are named.
  for (c = 2; c <= columns; c++)
    if ((1, c) in value && c != us && name[c] != cuda && name[c] != floor) {
      v = log(value[1, c])
      if (near == "" || v < near) near = v
      if (far == "" || v > far) far = v
    }
  y = top + pitch - 14
  text(place(value[1, us]), y - 16, "us", "XMalloc for OpenCL")
  text(place(exp((near + far) / 2)), y, "other c", "other allocators")
  for (c = 2; c <= columns; c++)
    if ((1, c) in value) {
      if (name[c] == cuda) text(place(value[1, c]), y, "cuda e", "CUDA’s malloc")
      if (name[c] == floor) text(place(value[1, c]), y, "m c", "no allocator")
    }
  print "</svg>"
}
