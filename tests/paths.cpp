#include "tandem/tests/paths.h"

namespace tandem::test {

const char* const kFixtures = TANDEM_TEST_FIXTURES;
const char* const kCommand = TANDEM_COMMAND;
const char* const kExamples = TANDEM_EXAMPLES;
const char* const kBenchmarkData = TANDEM_BENCHMARK_DATA;
const char* const kExitProgram = TANDEM_EXIT_PROGRAM;
const char* const kLaunchProgram = TANDEM_LAUNCH_PROGRAM;
const char* const kFaultsProgram = TANDEM_FAULTS_PROGRAM;
const char* const kTrainProgram = TANDEM_TRAIN_PROGRAM;
const char* const kFlightProgram = TANDEM_FLIGHT_PROGRAM;
const char* const kRelayPreload = TANDEM_RELAY_PRELOAD;
const char* const kFakeNccl = TANDEM_FAKE_NCCL;

}  // namespace tandem::test
