// Main program of the differential tests: serves the search (`./run differential`), prints programs as C++, and replays
// recorded programs.
#include <unistd.h>

#include <iostream>

#include "tandem/tests/differential/replay.h"

namespace {

using namespace tandem::differential;

constexpr const char* kUsage =
    "usage: differential serve [--device DEVICE]   runs the program on each input line, and prints a line of results\n"
    "       differential print                     prints the program on each input line as C++\n"
    "       differential ops                       prints the names in the table of ops\n"
    "       differential replay CORPUS [--left-out LIST] [--strict] [--device DEVICE] [--every N] [--plant DEFECT]\n";

int serve(tandem::Device device) {
  for (std::string line; std::getline(std::cin, line);) {
    alarm(60);  // ends a program that hangs
    std::cout << Machine(device, "").run(Json::parse(line)).dump() << std::endl;
    alarm(0);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string job = arguments.empty() ? "" : arguments[0];
  ReplayOptions options;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const bool last = i + 1 == arguments.size();
    if (arguments[i] == "--device" && !last)
      options.device = tandem::Device(arguments[++i]);
    else if (arguments[i] == "--every" && !last)
      options.every = std::stoul(arguments[++i]);
    else if (arguments[i] == "--left-out" && !last)
      options.left_out = arguments[++i];
    else if (arguments[i] == "--strict")
      options.strict = true;
    else if (arguments[i] == "--plant" && !last)
      options.planted = arguments[++i];
    else
      options.corpus = arguments[i];
  }
  if (job == "serve") return serve(options.device);
  if (job == "replay") return replay(options) == 0 ? 0 : 1;
  if (job == "ops") {
    for (const auto& [name, op] : op_table()) std::cout << name << "\n";
    return 0;
  }
  if (job == "print") {
    for (std::string line; std::getline(std::cin, line);)
      std::cout << cpp_text(Json::parse(line)) << "\n" << std::flush;
    return 0;
  }
  std::cerr << kUsage;
  return 2;
} catch (const std::exception& e) {
  std::cerr << "differential: " << e.what() << "\n";
  return 2;
}
