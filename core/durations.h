// Durations and clocks of std::chrono, for headers. Internal.
#pragma once
#include <mutex>  // in GCC's standard library, this header also defines the durations and clocks

// Other standard libraries need <chrono>. GCC's <chrono> also defines calendars, which would add about 0.05 s to the
// compilation of each file of a user's program.
#ifndef __GLIBCXX__
#include <chrono>
#endif
