// Paths of the tests' files and programs. Only paths.cpp is compiled with the checkout's path, so that a compiler cache
// serves every clone.
#pragma once

namespace tandem::test {

extern const char* const kFixtures;       // tests/fixtures
extern const char* const kCommand;        // the program `tandem`
extern const char* const kExamples;       // folder of the examples
extern const char* const kBenchmarkData;  // benchmarks/data
extern const char* const kExitProgram;    // program that calls the library while it exits
extern const char* const kLaunchProgram;  // program that tests of the launcher start
extern const char* const kFaultsProgram;  // program that the tool `faults` starts and disturbs
extern const char* const kTrainProgram;   // program that trains with the Trainer
extern const char* const kFlightProgram;  // program whose ranks fail as its arguments say
// preloaded library that routes a rank's connections through a relay; null if unsupported
extern const char* const kRelayPreload;
extern const char* const kFakeNccl;  // library that replaces NCCL; null if it was not built

}  // namespace tandem::test
