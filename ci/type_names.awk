# Prints types that two files define with one name in one namespace. Of functions that the compiler emits for both
# types, the linker keeps one, which then runs for both. Relies on clang-format's layout: the contents of a namespace
# are not indented. Types in an unnamed namespace are local to their file. Types outside all namespaces occur only in
# programs, which are not linked together.
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
