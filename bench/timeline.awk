# SPDX-License-Identifier: MIT
# Draws what `xmc-heap trace` writes as live bytes over time: an area for each size class, one upon another.
#   xmc-heap trace FILE | awk -v title=… -f svg.awk -f timeline.awk
function bytes_text(value) {
  if (value >= 1048576) return sprintf("%.3g MiB", value / 1048576)
  if (value >= 1024) return sprintf("%.3g KiB", value / 1024)
  return sprintf("%d B", value)
}
function number_text(value,   digits) {
  for (digits = sprintf("%.0f", value); digits ~ /[0-9][0-9][0-9][0-9]/; )
    sub(/[0-9][0-9][0-9]($|,)/, ",&", digits)
  return digits
}
function across(time) { return left + (last > first ? (time - first) / (last - first) : 0) * (right - left) }
function up(value) { return bottom - value / high * (bottom - top) }
# The number behind "name": in a line of JSON
function field(name,   rest) {
  rest = substr($0, index($0, "\"" name "\": ") + length(name) + 4)
  return rest + 0
}
BEGIN {
  width = 720; left = 92; right = 560; top = 84; bottom = 344; most = 7
  split("#0072b2 #e69f00 #009e73 #cc79a7 #56b4e9 #d55e00 #9aa3ad", colour, " ")
}
/"clock": / { clock = $0 ~ /"ns"/ ? "ns" : $0 ~ /"ticks"/ ? "ticks" : "" }
/^  "(events|lost|every)": / { total[$1] = $2 + 0 }
/"ph": "C"/ {
  time[++samples] = field("ts")
  rest = substr($0, index($0, "\"args\": {") + 9)
  while (match(rest, /"[^"]*": [0-9]+/)) {
    pair = substr(rest, RSTART + 1, RLENGTH - 1)
    rest = substr(rest, RSTART + RLENGTH)
    name = substr(pair, 1, index(pair, "\"") - 1)
    bytes = substr(pair, index(pair, ": ") + 2) + 0
    if (!(name in seen)) { seen[name] = 1; names[++kinds] = name }
    value[samples, name] = bytes
    sum[samples] += bytes
    if (bytes > peak[name]) peak[name] = bytes
    if (sum[samples] > largest) largest = sum[samples]
  }
}
END {
  if (!samples) { print "timeline.awk: there is no event in the trace" >"/dev/stderr"; exit 1 }
  first = time[1]; last = time[samples]
  for (high = 1; high < largest; ) high *= 2
  if (high / 4 * 3 >= largest) high = high / 4 * 3
  # The classes with the highest peaks have a colour of their own, in the order of their sizes; all others share the last one.
  for (k = 1; k <= kinds; k++) {
    above = 0
    for (j = 1; j <= kinds; j++) above += peak[names[j]] > peak[names[k]] || (peak[names[j]] == peak[names[k]] && j < k)
    own[k] = kinds <= most || above < most - 1
  }
  begin_page(width, bottom + 62, title, number_text(total["\"events\":"]) " events, " number_text(total["\"lost\":"]) " of them lost; bytes of live blocks by size class")
  for (n = 0; n <= 4; n++) {
    printf "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", left, up(high * n / 4), right
    text(left - 10, up(high * n / 4) + 4.5, "m e", bytes_text(high * n / 4))
  }
  for (n = 0; n <= 4; n++) {
    at = first + (last - first) * n / 4
    text(across(at), bottom + 20, "m c", !at ? "0" : clock == "ns" ? duration(at) : clock ? sprintf("%.3g", at / 1000) : number_text(at))
  }
  text((left + right) / 2, bottom + 44, "m c", clock == "ns" ? "time" : clock ? "millions of the device clock’s ticks" : "event, as this device has no clock that kernels can read")
  for (k = 1; k <= kinds; k++) if (own[k]) layers[++layer] = k
  if (layer < kinds) layers[++layer] = 0
  # Samples that would be at the same point of the drawing are left out.
  kept[drawn++] = 1
  for (s = 2; s <= samples; s++)
    if (s == samples || across(time[s]) - across(time[kept[drawn - 1]]) >= 1 || up(sum[s]) - up(sum[kept[drawn - 1]]) >= 2 || up(sum[kept[drawn - 1]]) - up(sum[s]) >= 2)
      kept[drawn++] = s
  for (n = 1; n <= layer; n++) {
    path = ""
    for (k = 0; k < drawn; k++) {
      s = kept[k]
      below[s] = base[s] + 0
      if (layers[n]) base[s] += value[s, names[layers[n]]]
      else for (j = 1; j <= kinds; j++) if (!own[j]) base[s] += value[s, names[j]]
      path = path (k == 0 ? "M" : "L") sprintf("%.1f %.1f", across(time[s]), up(base[s]))
    }
    for (k = drawn - 1; k >= 0; k--) path = path sprintf("L%.1f %.1f", across(time[kept[k]]), up(below[kept[k]]))
    name = layers[n] ? names[layers[n]] : "others"
    printf "<path fill=\"%s\" d=\"%sZ\"><title>%s</title></path>\n", colour[n], path, escape(name)
    printf "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", right + 24, bottom - 22 * n, colour[n]
    text(right + 44, bottom - 22 * n + 11, "", name)
  }
  print "</svg>"
}
