// The durations and clocks of std::chrono, for headers. Internal.
#pragma once
#include <mutex>  // of GCC's library, which brings them

// <chrono> has calendars too: they alone would take each of the users' files a twentieth of a second to compile.
#ifndef __GLIBCXX__
#include <chrono>
#endif
