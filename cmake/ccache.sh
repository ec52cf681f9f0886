#!/bin/sh
# ccache.sh CCACHE COMPILER ARGUMENTS...: compiles through ccache. A precompiled header is found by the contents of the files
# that it includes (ccache's depend mode), and made as if there were none before it. Otherwise ccache would look for it by
# what the preprocessor gives: gcc's would read the old one in place of the header, and a change of a comment alone would
# change nothing, though gcc takes a header for another one when its text has changed, and compiles it twice.
ccache=$1
shift
before=
for argument; do
  case $before$argument in
    -o*.gch | -o*.pch)
      rm -f "$argument"
      export CCACHE_DEPEND=1 CCACHE_NAMESPACE=headers  # apart from what the other mode has stored
      ;;
  esac
  before=$argument
done
# Without these, ccache compiles whatever uses a precompiled header anew.
CCACHE_SLOPPINESS=pch_defines,time_macros exec "$ccache" "$@"
