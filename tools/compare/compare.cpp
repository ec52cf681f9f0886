// Implements compare(): checks the settings, runs the measurements until they are done or the user presses Ctrl-C,
// records the provenance, and writes the report.
#include "tandem/tools/compare/compare.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/threads/cpu_info.h"
#include "tandem/tandem.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/compare/measure/batches.h"
#include "tandem/tools/compare/measure/rank_file.h"
#include "tandem/tools/compare/predict.h"
#include "tandem/tools/demo/data_folder.h"
#include "tandem/tools/usage.h"

namespace tandem::tools::compare {
namespace {

std::atomic<bool> is_interrupted{false};
void handle_interrupt(int) {
  is_interrupted = true;
  constexpr char kMessage[] =
      "\ncompare: interrupted; writing a report of the results so far (Ctrl-C again ends at once)\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
}

/// While an instance exists, the first Ctrl-C ends only the measurement, and a second one ends the program.
class InterruptGuard {
 public:
  InterruptGuard() {
    struct sigaction action = {};
    action.sa_handler = handle_interrupt;
    action.sa_flags = SA_RESETHAND;
    sigaction(SIGINT, &action, &old_action_);
  }
  ~InterruptGuard() { sigaction(SIGINT, &old_action_, nullptr); }
  InterruptGuard(const InterruptGuard&) = delete;

 private:
  struct sigaction old_action_ = {};
};

void resolve_settings(Settings& s) {
  const bool emulated = gpu::implementation() == std::string("emulated");
  if (s.device.empty()) s.device = cuda::is_available() && !emulated && cuda::device_count() > 1 ? "cuda" : "cpu";
  check_usage(s.device == "cpu" || cuda::is_available(),
              "--device is cuda, but no GPU can be used: ", gpu::unavailable_reason(), "; accepted here: cpu");
  if (s.quick) {
    s.devices = {2};
    s.sample_seconds = std::min(s.sample_seconds, 0.06);
  }
  if (s.time_limit <= 0) s.time_limit = s.quick ? 40 : 300;
  const int available = Device(s.device).is_cpu() || ranks_share_gpu(s) ? kMaxDevices : cuda::device_count();
  for (const int n : s.devices) {
    check_usage(n >= 2 && n <= available, "--devices has the device count ", n, "; accepted: 2 to ", available, " ",
                s.device == "cpu" ? "virtual CPU devices"
                                  : "GPUs (or more ranks that share one: --backend gloo --mode ddp_gloo)");
    check_usage(s.batch % n == 0, "--batch-size: a batch of ", s.batch, " cannot be split into ", n,
                " equal parts; accepted: a multiple of ", n);
  }
  rethrow_as_usage_error([&] {  // the calls below throw if a mode, fault or file does not exist
    for (const std::string& mode : s.modes) find_mode(mode);
    const InjectedFault fault = parse_fault(s.fault);
    const int max_devices = *std::max_element(s.devices.begin(), s.devices.end());
    check_usage(fault.target < max_devices, "--plant ", s.fault, ": there is no device or rank ", fault.target,
                "; accepted: 0 to ", max_devices - 1);
    if (!s.profile.empty()) predict_projections(s.profile);
  });
  for (const std::string& backend : s.backends) {
    check_usage(backend != "nccl" || s.device == "cuda", "--backend nccl cannot run here: NCCL needs GPUs");
    check_usage(backend != "gloo" || distributed::is_gloo_available(),
                "--backend gloo cannot run here: this build has no Gloo");
  }
  if (s.backends.empty()) {
    s.backends = {"local"};
    if (distributed::is_gloo_available() && s.device == "cpu") s.backends.push_back("gloo");
    if (s.device == "cuda" && !emulated && distributed::is_nccl_available()) s.backends.push_back("nccl");
  }
  s.data = find_fashion_mnist(s.data);
}

/// Creates the output folder. This happens before the measurement, because an error after it would lose the results.
void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  check_usage(!error && std::filesystem::is_directory(path), "--out ", path,
              " cannot be created: ", error ? error.message() : "a file with that name exists");
  check_usage(::access(path.c_str(), W_OK) == 0, "--out ", path, " is a folder that cannot be written to");
}

/// Returns the Git commit of the source tree that this program was built from; "" if the source tree no longer exists.
std::string read_git_commit() {
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

bool ranks_share_gpu(const Settings& s) {
  return s.device == "cuda" && s.backends == std::vector<std::string>{"gloo"} && !s.modes.empty() &&
         std::all_of(s.modes.begin(), s.modes.end(),
                     [](const std::string& mode) { return mode == "single" || find_mode(mode).backend == "gloo"; });
}

int compare(Settings settings) {
  resolve_settings(settings);
  make_folder(settings.out);
  if (settings.threads > 0) set_num_threads(settings.threads = check_num_threads(settings.threads));
  if (settings.device == "cpu")
    set_cpu_device_count(*std::max_element(settings.devices.begin(), settings.devices.end()));
  const bool uses_images = std::any_of(settings.models.begin(), settings.models.end(),
                                       [](const std::string& model) { return !example_sizes(model).tokens; });
  if (settings.data.empty() && uses_images)
    std::fprintf(stderr, "compare: FashionMNIST was not found, so random images are used; %s\n", kDataRemedy);
  std::vector<TraceEvent> trace;
  Report report;
  {
    const InterruptGuard guard;
    report = measure(
        settings, [] { return is_interrupted.load(); }, &trace);
  }
  std::printf("%s\n%s\n", format_table(report).c_str(), report.verdict.c_str());
  // Prints one diagnosis of each kind; the HTML page lists all of them.
  std::map<std::string, int> printed;
  for (const Diagnosis& d : report.diagnosis)
    if (printed[d.kind]++ == 0) std::printf("- %s (%s): %s\n", d.kind.c_str(), d.row.c_str(), d.sentence.c_str());
  ResultFiles files;
  files.try_write([&] { write_report(settings.out + "/report.json", report); });
  files.try_write([&] { write_file_atomically("compare", settings.out + "/report.html", render_html(report)); });
  files.try_write([&] { write_trace(settings.out + "/trace.json", trace); });
  files.throw_errors();
  std::printf("\nthe page: %s/report.html\n", settings.out.c_str());
  return report.complete ? 0 : 130;
}

void run_rank_process(const std::string& folder, const Mode& mode, const Job& job) {
  if (job.threads > 0) set_num_threads(job.threads);
  distributed::init_process_group(mode.backend);
  write_rank_sample(folder, run_this_rank(mode, job));
  distributed::destroy_process_group();
}

Provenance collect_provenance(const Settings& settings) {
  Provenance p;
  p.version = TANDEM_VERSION;
  p.commit = read_git_commit();
  p.date = date_now();
  p.compiler = TANDEM_COMPILER;
  for (const std::string& word : settings.command_line) p.command += (p.command.empty() ? "" : " ") + word;
  p.cpu = cpu_model() + ", " + cpu_isa_name();
  utsname os = {};
  if (uname(&os) == 0) p.os = std::string(os.sysname) + " " + os.release;
  p.cores = num_usable_cores();
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
