// What a report was measured on, with and by.
#include <sys/utsname.h>

#include <ctime>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/threads/cpu_info.h"
#include "tandem/tandem.h"
#include "tandem/tools/compare/compare.h"

namespace tandem::tools::compare {
namespace {

/// The commit of the sources that this program was built from, if they are still there.
std::string commit() {
  std::string text;
  if (FILE* const pipe =
          popen("git -C '" TANDEM_SOURCE_FOLDER "' describe --always --dirty --abbrev=40 2>/dev/null", "r")) {
    char bytes[256];
    while (std::fgets(bytes, sizeof bytes, pipe)) text += bytes;
    pclose(pipe);
  }
  return text.substr(0, text.find('\n'));
}
std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc);
  return text;
}

}  // namespace

Provenance provenance(const Settings& settings) {
  Provenance p;
  p.version = TANDEM_VERSION;
  p.commit = commit();
  p.date = date_now();
  p.compiler = TANDEM_COMPILER;
  for (const std::string& word : settings.command_line) p.command += (p.command.empty() ? "" : " ") + word;
  p.cpu = cpu_model() + ", " + cpu_isa_name();
  utsname os = {};
  if (uname(&os) == 0) p.os = std::string(os.sysname) + " " + os.release;
  p.cores = usable_cores();
  p.threads = get_num_threads();
  p.memory_gib = static_cast<double>(memory_limit()) / (1 << 30);
  p.seed = settings.seed;
  if (cuda::is_available())
    for (int i = 0; i < cuda::device_count(); ++i) p.gpus.push_back(cuda::get_device_properties(Device(kCUDA, i)).name);
  p.libraries = {std::string("OpenBLAS ") + (TANDEM_HAS_OPENBLAS ? "in" : "out"),
                 std::string("oneDNN ") + (TANDEM_HAS_ONEDNN ? "in" : "out"),
                 std::string("Gloo ") + (TANDEM_HAS_GLOO ? "in" : "out"),
                 std::string("NCCL ") + (distributed::is_nccl_available() ? "in" : "out")};
  return p;
}

}  // namespace tandem::tools::compare
