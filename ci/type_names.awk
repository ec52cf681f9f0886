# Names what two files of one namespace both define as a type: of what the compiler makes for either, the linker keeps
# one, which is then run for both. Reads sources as clang-format lays them out: what a namespace holds is not indented.
# Types of an unnamed namespace are their file's own; outside of all namespaces are only programs, each for itself.
FNR == 1 { depth = 0 }
/^namespace .*\{$/ { inside[++depth] = $2; next }
/^}  \/\/ namespace/ { depth--; next }
/^(template <.*> )?(enum )?(struct|class|union) [A-Za-z_0-9]+( final)?( :.*|( : .*)? \{.*)?$/ {
  name = $0
  if (/^template/ && match(name, /> (struct|class|union) /)) name = substr(name, RSTART + 2)
  gsub(/^(enum )?(struct|class|union) |[ :{].*$/, "", name)
  if (depth == 0) next
  for (i = depth; i > 0; i--) {
    if (inside[i] == "{") next
    name = inside[i] "::" name
  }
  if (!(name in first)) first[name] = FILENAME
  else if (first[name] != FILENAME) print name " is defined in " first[name] " and in " FILENAME
}
