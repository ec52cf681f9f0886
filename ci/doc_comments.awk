# Prints the public declarations of headers that have no comment: functions at namespace scope, and methods that a class
# offers; not those of namespace detail. One comment may stand over several lines, up to the next empty one. By the layout
# that clang-format gives.
FNR == 1 { documented = in_class = public = internal = 0 }
/^namespace (.*::)?detail(::[a-z]+)? [{]$/ { internal = FNR }
/^}  \/\/ namespace .*detail/ { internal = 0 }
/^}$/ && internal == FNR - 2 { internal = 0 }  # around a single line clang-format puts no comment
internal { next }
/^(class|struct) .*[{]$/ { in_class = 1; public = /^struct/; documented = 0; next }
/^};/ { in_class = 0 }
/^ (public|private|protected):/ { public = /public/; documented = 0; next }
/^ *$/ { documented = 0; next }
/^ *\/\// { documented = 1; next }
/^ *(#|template|requires|using |friend |return |static_assert|typedef|TANDEM_)/ { next }
/override|= delete|= default|operator|explicit|^ *~|^ *[A-Z][A-Za-z]*\(/ { next }  # what a class's comment covers
/\/\/ / { next }
(in_class && public && /^  [A-Za-z].*[a-z_0-9]\(/) || (!in_class && /^[A-Za-z].*[a-z_0-9]\(/) {
  if (!documented) print FILENAME ":" FNR ": " $0
}
