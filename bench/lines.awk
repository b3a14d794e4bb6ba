# SPDX-License-Identifier: MIT
# Draws a table of bench/plot as lines: the first column along the x axis by powers of 2, the others along a logarithmic y axis. Each
# line is named at its right end, and one of them, which `ours` names, stands out.
#   awk -v title=… -v axis=… -v xaxis=… -v ours=NAME -v unit=time -f svg.awk -f lines.awk FILE.csv        microseconds
#   … -v unit=times                                                                                      plain numbers
BEGIN {
  FS = ","
  width = 650; left = 92; right = 480; top = 84; bottom = 344; gap = 16
}
function ten(value) { return log(value) / log(10) }
function across(value) { return left + (log(value) - log(x[1])) / (log(x[rows]) - log(x[1])) * (right - left) }
function up(value) { return bottom - (ten(value) - low) / (high - low) * (bottom - top) }
function number(value) { return unit == "time" ? duration(value) : value < 100 ? sprintf("%.3g ×", value) : thousands(value) " ×" }
function thousands(value,   digits) {
  for (digits = sprintf("%.0f", value); match(digits, /[0-9][0-9][0-9][0-9]/); )
    if (!sub(/[0-9][0-9][0-9](,|$)/, ",&", digits) || digits !~ /[0-9][0-9][0-9][0-9]/) break
  return digits
}
function class_of(c) { return name[c] == ours ? "us" : name[c] ~ /^CUDA|^unbuffered|^none/ ? "cuda" : "other" }
function draw(c,   r, path) {
  for (r = 1; r <= rows; r++)
    if ((r, c) in value)
      path = path (path == "" ? "M" : "L") sprintf("%.1f %.1f", across(x[r]), up(value[r, c]))
  printf "<path class=\"line %s\" d=\"%s\"/>\n", class_of(c), path
  for (r = 1; r <= rows; r++)
    if ((r, c) in value)
      printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" class=\"%s\"><title>%s, %s: %s</title></circle>\n",
        across(x[r]), up(value[r, c]), name[c] == ours ? 5 : 3.5, class_of(c), escape(name[c]), x[r], number(value[r, c])
}
NR == 1 {
  for (c = 2; c <= NF; c++) name[c] = $c
  columns = NF
  next
}
{
  x[++rows] = $1
  for (c = 2; c <= columns; c++) {
    if ($c == "") continue
    value[rows, c] = $c + 0
    if (!smallest || $c + 0 < smallest) smallest = $c + 0
    if ($c + 0 > largest) largest = $c + 0
  }
}
END {
  low = int(ten(smallest) + 100) - 100
  high = int(ten(largest) + 99.999) - 99
  if (high == low) high++
  begin_page(width, bottom + 62, title, axis)
  for (decade = low; decade <= high; decade++) {
    printf "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", left, up(10 ^ decade), right
    text(left - 10, up(10 ^ decade) + 4.5, "m e", number(10 ^ decade))
  }
  for (r = 1; r <= rows; r += rows > 8 ? 4 : 1)
    text(across(x[r]), bottom + 20, "m c", thousands(x[r]))
  text((left + right) / 2, bottom + 44, "m c", xaxis)
  for (c = 2; c <= columns; c++) if (name[c] != ours) draw(c)
  for (c = 2; c <= columns; c++) if (name[c] == ours) draw(c)
  # The names, from the top down, each at least `gap` below the one above it; then all of a heap half of what it was pushed up again.
  for (n = 0; n < columns - 1; n++) {
    best = 0
    for (c = 2; c <= columns; c++)
      if (!(c in placed) && (rows, c) in value && (!best || value[rows, c] > value[rows, best])) best = c
    if (!best) break
    placed[best] = 1
    order[n] = best
    at[n] = up(value[rows, best])
  }
  for (turn = 0; turn < 50; turn++)
    for (i = 1; i < n; i++)
      if (at[i] - at[i - 1] < gap) {
        middle = (at[i] + at[i - 1]) / 2
        at[i - 1] = middle - gap / 2
        at[i] = middle + gap / 2
      }
  for (i = 0; i < n; i++) {
    c = order[i]
    if (at[i] - up(value[rows, c]) > 3 || up(value[rows, c]) - at[i] > 3)
      printf "<path class=\"grid\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", right + 5, up(value[rows, c]), right + 15, at[i]
    text(right + 18, at[i] + 4.5, class_of(c), name[c])
  }
  print "</svg>"
}
