#!/bin/sh
# ccache.sh CCACHE COMPILER ARGUMENTS...: compiles through ccache. An old precompiled header is deleted first, and a new
# one is identified by the contents of the files that it includes (ccache's depend mode). ccache's usual mode identifies
# it by the output of the preprocessor, which is wrong twice: gcc's preprocessor would read the old precompiled header
# in place of the header, and a change in a comment would not change that output, although gcc treats the header as
# another one and compiles it twice.
ccache=$1
shift
before=
for argument; do
  case $before$argument in
    -o*.gch | -o*.pch)
      rm -f "$argument"
      export CCACHE_DEPEND=1 CCACHE_NAMESPACE=headers  # separate from results of the usual mode
      ;;
  esac
  before=$argument
done
# Without these settings, ccache always recompiles files that use a precompiled header.
CCACHE_SLOPPINESS=pch_defines,time_macros exec "$ccache" "$@"
