#!/bin/sh
# ccache.sh CCACHE COMPILER ARGUMENTS...: compiles through ccache. A precompiled header is made as if there were none before
# it: gcc's preprocessor would read that in place of the header, and ccache would see none of what the header includes. It
# then gave out, after a header had changed twice, what had been made after the first change.
ccache=$1
shift
before=
for argument; do
  case $before$argument in -o*.gch | -o*.pch) rm -f "$argument" ;; esac
  before=$argument
done
# Without these, ccache compiles whatever uses a precompiled header anew.
CCACHE_SLOPPINESS=pch_defines,time_macros exec "$ccache" "$@"
