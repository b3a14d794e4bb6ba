# SPDX-License-Identifier: MIT
# Makes manual pages of the reference: a page for each section `### name, name, …` of include/README.md, and one that leads to it
# for each further name. Functions go to the folder man3 of the output, the programs to man1.
#   awk -v folder=OUTPUT -v version=0.2.0 -f man.awk include/README.md
function words(text) { # Markdown within a line
  gsub(/\\/, "\\e", text)
  text = gensub_links(text)
  while (match(text, /\*\*[^*]*\*\*/))
    text = substr(text, 1, RSTART - 1) "\\fB" substr(text, RSTART + 2, RLENGTH - 4) "\\fR" substr(text, RSTART + RLENGTH)
  while (match(text, /`[^`]*`/))
    text = substr(text, 1, RSTART - 1) "\\fB" substr(text, RSTART + 1, RLENGTH - 2) "\\fR" substr(text, RSTART + RLENGTH)
  gsub(/-/, "\\-", text)
  gsub(/…/, "...", text)
  if (text ~ /^[.']/)
    text = "\\&" text
  return text
}
function gensub_links(text,   label) {
  while (match(text, /\[[^]]*\]\([^)]*\)/)) {
    label = substr(text, RSTART + 1, index(substr(text, RSTART), "]") - 2)
    text = substr(text, 1, RSTART - 1) label substr(text, RSTART + RLENGTH)
  }
  return text
}
function done() {
  if (!page)
    return
  print ".SH SEE ALSO\nThe whole reference, with what holds for all functions, is README.md in share/doc/xmalloc." > page
  close(page)
  page = ""
}
/^## / {
  done()
  device = /^## Device/
  program = /^## Programs/
}
/^### / {
  done()
  sub(/^### /, "")
  count = split($0, names, ", ")
  section = program ? "1" : "3xmc"
  page = folder (program ? "/man1/" : "/man3/") names[1] "." section
  printf ".TH %s %s \"\" \"XMalloc %s\" \"XMalloc for OpenCL\"\n.SH NAME\n%s \\- %s of XMalloc for OpenCL\n",
    words(names[1]), section, version, words($0), program ? "a program" : device ? "a device function" : "a host function" > page
  for (i = 2; i <= count; i++) {
    print ".so man3/" names[1] ".3xmc" > (folder "/man3/" names[i] ".3xmc")
    close(folder "/man3/" names[i] ".3xmc")
  }
  next
}
!page { next }
/^```/ {
  if (code = !code)
    printf ".SH SYNOPSIS\n.nf\n%s", program ? "" : device ? "#include \"xmalloc.cl\"\n" : "#include <xmalloc.h>\n" > page
  else
    print ".fi\n.SH DESCRIPTION" > page
  next
}
code { print words($0) > page; next }
!/^\|/ { table = 0 }
/^\|[-|]*$/ { next }
/^\|/ { # a table: its first row has the names of the columns, of which the third one's is repeated in each entry
  gsub(/^\| *| *\|$/, "")
  split($0, cells, / *\| */)
  if (!table++)
    third = cells[3]
  else
    printf ".TP\n%s\n%s%s\n", words(cells[1]), words(cells[2]), cells[3] != "" ? " (" words(third ": " cells[3]) ")" : "" > page
  next
}
/^- / { print ".IP \\(bu 2\n" words(substr($0, 3)) > page; next }
/^$/ { print ".PP" > page; next }
{ sub(/^  /, ""); print words($0) > page }
END { done() }
