// Durations and clocks of std::chrono, for headers. Internal.
#pragma once
#include <mutex>  // GCC's <mutex> brings the durations and clocks

// <chrono> also brings calendars, which would add about 0.05 s to the compilation of each file of a user's program.
#ifndef __GLIBCXX__
#include <chrono>
#endif
