// Where the tests' files and programs are. Only paths.cpp is compiled with the folder's name, so that a compiler cache
// serves every clone of the tree.
#pragma once

namespace tandem::test {

extern const char* const kFixtures;       // tests/fixtures
extern const char* const kCommand;        // the program `tandem`
extern const char* const kExamples;       // the folder of the examples
extern const char* const kBenchmarkData;  // benchmarks/data
extern const char* const kExitProgram;    // calls the library when it ends
extern const char* const kLaunchProgram;  // what the launcher's tests start
extern const char* const kFaultsProgram;  // what `faults` starts and strikes
extern const char* const kFlightProgram;  // whose ranks fail as they are told
extern const char* const kRelayPreload;   // which leads a rank's connections through a relay; null where it cannot
extern const char* const kFakeNccl;       // the library that stands for NCCL; null where there is none

}  // namespace tandem::test
