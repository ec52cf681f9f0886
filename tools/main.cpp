// The `tandem` command: declares the subcommands' options and calls their functions. CLI11 takes seconds to compile, so
// only this file, command_line.cpp, and files of options include it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <sstream>

#include "tandem/core/device.h"
#include "tandem/core/internal.h"
#include "tandem/core/version.h"
#include "tandem/tools/command_line.h"
#include "tandem/tools/commands.h"
#include "tandem/tools/flight/flight.h"
#include "tandem/tools/launch/ranks.h"
#include "tandem/tools/simulate/published.h"
#include "tandem/tools/tokenize/tokenize.h"
#include "tandem/tools/trace/trace.h"
#include "tandem/tools/usage.h"
#if TANDEM_HAS_BENCHMARKS
#include "tandem/benchmarks/report.h"
#endif

namespace tandem::tools {
namespace {

/// Makes Ctrl-C end the command at once. This leaves no incomplete result, because each file gets its final name only
/// after it is complete.
void end_on_interrupt() {
  ::signal(SIGINT, [](int) {
    constexpr char kMessage[] = "\ntandem: interrupted\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
    ::_exit(128 + SIGINT);
  });
}

void add_demo_command(CLI::App& app, std::vector<std::string> command_line) {
  auto s = std::make_shared<DemoSettings>();
  s->command_line = std::move(command_line);
  CLI::App* const c = app.add_subcommand("demo",
                                         "Train a network on FashionMNIST: on one device, under DataParallel and "
                                         "under DistributedDataParallel");
  add_option(*c, "--model", s->model, "NAME", "Network to train: mlp, lenet or fashion_cnn")
      ->check(make_choice_validator({"mlp", "lenet", "fashion_cnn"}));
  add_option(*c, "--mode", s->modes, "NAMES",
             "Modes to train in, separated by commas: single (one device), dp (DataParallel), ddp_gloo and ddp_nccl "
             "(DistributedDataParallel with processes as ranks), ddp_local (DistributedDataParallel with threads as "
             "ranks), ddp (these three) or all")
      ->default_str("all")
      ->delimiter(',')
      ->check(make_choice_validator({"single", "dp", "ddp_nccl", "ddp_gloo", "ddp_local", "ddp", "all"}));
  add_option(*c, "--devices", s->devices, "N", "Number of devices for DataParallel")
      ->default_str("all GPUs, or 2 virtual CPU devices")
      ->check(make_integer_validator(1, kMaxDevices));
  add_option(*c, "--ranks", s->ranks, "N", "Number of ranks for DistributedDataParallel")
      ->default_str("one for each GPU, at least 2")
      ->check(make_integer_validator(1, kMaxDevices));
  add_option(
      *c, "--backend", s->backend, "NAME",
      "Run only this backend of DistributedDataParallel: nccl or gloo (ranks are processes), or local (ranks are "
      "threads)")
      ->default_str("all that this machine can run")
      ->check(make_choice_validator({"nccl", "gloo", "local"}));
  add_option(*c, "--device", s->device, "NAME", "Device to compute on: cpu or cuda")
      ->default_str("cuda if there is a GPU, else cpu")
      ->check(make_choice_validator({"cpu", "cuda"}));
  add_option(*c, "--data", s->data, "FOLDER", "Folder with the four IDX files of FashionMNIST, plain or .gz")
      ->default_str("/usr/share/datasets/fashion-mnist");
  add_option(*c, "--epochs", s->epochs, "N", "Number of epochs")->check(make_integer_validator(0, 100000));
  add_option(*c, "--batch-size", s->batch_size, "N", "Batch size: images per step, summed over all devices or ranks")
      ->check(make_integer_validator(1, 60000));
  add_option(*c, "--seed", s->seed, "N", "Seed of the initial weights, the order of the images and dropout")
      ->check(make_integer_validator(0));
  add_option(*c, "--compare-steps", s->compare_steps, "N",
             "Step after which the weights of a parallel mode are compared with those of one device")
      ->check(make_integer_validator(1, 100000));
  add_option(*c, "--threads", s->threads, "N", "Number of threads")
      ->default_str("all usable cores")
      ->check(make_integer_validator(1, 1024));
  add_option(
      *c, "--save", s->save, "FILE",
      "Write the weights trained by the first mode: as safetensors if the name ends with .safetensors, otherwise in "
      "PyTorch's format")
      ->default_str("not written");
  add_option(*c, "--load", s->load, "FILE", "Load the initial weights from this file")
      ->default_str("random weights")
      ->check(make_existing_file_validator());
  c->add_flag("--capture", s->capture, "Record the training step of mode single as a graph, and replay it");
  add_option(*c, "--json", s->json, "FILE", "Write the table and the settings to FILE")->default_str("not written");
  add_option(*c, "--report", s->report, "FILE",
             "Write an HTML page: curves, confusion matrix, misclassified images, time and memory")
      ->default_str("not written");
  // Hidden options for the processes that run the ranks of DDP: record the data for --report, and write the results to
  // this file.
  c->add_flag("--history", s->history)->group("");
  c->add_option("--rank-result", s->rank_result)->group("");
  c->footer("example: tandem demo --model mlp --mode single,dp --epochs 3");
  c->callback([s] {
    if (s->rank_result.empty()) end_on_interrupt();
    demo(*s);
  });
}

void add_doctor_command(CLI::App& app) {
  app.add_subcommand("doctor", "Check this machine and this build, and show how to fix each problem")->callback([] {
    if (doctor() > 0) throw CLI::RuntimeError(1);
  });
}

/// Adds the subcommand `tandem launch`. CLI11 does not see the arguments of the launched program, because run() removes
/// them from the command line. @param arguments  the arguments of the launched program
void add_launch_command(CLI::App& app, const std::vector<std::string>& arguments) {
  struct Options : RankOptions {
    int count = 2;
    int64_t seconds = 0, rdzv_seconds = 300, node_seconds = 10;
    std::vector<std::string> command;
  };
  auto o = std::make_shared<Options>();
  CLI::App* const c = app.add_subcommand(
      "launch", "Start a program several times, as the ranks of one job; end all ranks if one fails");
  add_option(*c, "-n,--ranks", o->count, "N", "Number of ranks (processes) to start")
      ->check(make_integer_validator(1, 1024));
  add_option(*c, "--timeout", o->seconds, "SECONDS", "Time limit of the whole job; 0: no limit")
      ->check(make_integer_validator(0, int64_t(1) << 31));
  add_option(*c, "--max-restarts", o->max_restarts, "N",
             "How often to restart all ranks after one has failed; a program that saves checkpoints continues from its "
             "last one")
      ->check(make_integer_validator(0, 1000000));
  add_option(*c, "--threads", o->threads, "N", "Number of threads of each rank")
      ->default_str("TANDEM_NUM_THREADS, or an equal share of the cores")
      ->check(make_integer_validator(1, 1024));
  c->add_flag("--pin", o->pin, "Pin each rank to its own share of the cores");
  add_option(*c, "--output", o->output, "FOLDER", "Write each rank's output to FOLDER/rank_0.out and rank_0.err")
      ->default_str("print here, with the rank in front of each line");
  add_option(*c, "--flight", o->flight, "FOLDER",
             "Folder in which each rank writes its last calls if the job fails, for `tandem flight`; after restart N: "
             "FOLDER/restart_N")
      ->default_str("folder of --output, if given");
  CLI::Option* const rdzv =
      add_option(*c, "--rdzv", o->rdzv, "HOST:PORT",
                 "Address at which the launchers of several nodes meet: a host of the job and a free "
                 "port there. All need the same TANDEM_JOB_TOKEN")
          ->default_str("one node");
  CLI::Option* const nodes =
      add_option(*c, "--nodes", o->nodes, "N", "Number of nodes, each with a launcher and its own ranks")
          ->check(make_integer_validator(1, 1024));
  nodes->needs(rdzv);
  rdzv->needs(nodes);
  add_option(*c, "--rdzv-timeout", o->rdzv_seconds, "SECONDS", "Time limit for all launchers to connect")
      ->check(make_integer_validator(1, int64_t(1) << 31));
  add_option(*c, "--node-timeout", o->node_seconds, "SECONDS",
             "Time without a heartbeat from a node's launcher after which the other launchers end the job")
      ->check(make_integer_validator(1, int64_t(1) << 31));
  add_option(*c, "PROGRAM", o->command, "-- PROGRAM [ARGS...]", "The program to run and its arguments, after --")
      ->required();
  c->footer("example: tandem launch -n 2 -- ./train --epochs 3");
  c->callback([o, arguments] {
    o->timeout = std::chrono::seconds(o->seconds);
    o->rdzv_timeout = std::chrono::seconds(o->rdzv_seconds);
    o->node_timeout = std::chrono::seconds(o->node_seconds);
    o->command.insert(o->command.end(), arguments.begin(), arguments.end());
    const int status = run_processes(o->count, o->command, *o);
    if (status != 0) throw CLI::RuntimeError(status);
  });
}

void add_flight_command(CLI::App& app) {
  auto s = std::make_shared<flight::Settings>();
  CLI::App* const c =
      app.add_subcommand("flight", "Analyse the flight records of a failed job: which rank was missing in which call");
  add_option(*c, "folder", s->folder, "FOLDER", "Folder with the ranks' files flight_rank_0.json and so on")
      ->required();
  add_option(*c, "--json", s->json, "FILE", "Write the findings to FILE")->default_str("not written");
  c->footer("example: tandem flight logs");
  c->callback([s] { flight::flight(*s); });
}

void add_show_command(CLI::App& app) {
  auto s = std::make_shared<ShowSettings>();
  CLI::App* const c = app.add_subcommand(
      "show", "List the tensors and other values in a file written by torch.save, LibTorch or safetensors");
  c->add_option("FILE", s->file, "File to read, or the index (.json) of a model in several safetensors files")
      ->type_name("FILE")
      ->required();
  c->add_option("--json", s->json, "Write the list to FILE")->type_name("FILE")->default_str("not written");
  c->footer("example: tandem show model.safetensors");
  c->callback([s] { show(*s); });
}

void add_tokenize_command(CLI::App& app) {
  auto s = std::make_shared<tokenize::Settings>();
  CLI::App* const c = app.add_subcommand(
      "tokenize", "Train a tokenizer on text files, encode text files as a token file, or show the tokens of a text");
  add_option(*c, "FILES", s->files, "FILES...", "Text files to train on or to encode")
      ->check(make_existing_file_validator());
  c->add_flag("--train", s->train, "Train a byte-level BPE tokenizer on FILES, and save it in the folder of --output");
  add_option(*c, "--vocab-size", s->vocab_size, "N",
             "--train: number of tokens, including 256 bytes and special tokens")
      ->check(make_integer_validator(257, (int64_t(1) << 31) - 2));
  add_option(*c, "--min-frequency", s->min_frequency, "N", "--train: how often a pair must occur to become a token")
      ->check(make_integer_validator(1));
  add_option(*c, "--special", s->special_tokens, "TOKENS", "--train: special tokens, separated by commas")
      ->default_str("<|endoftext|>")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_option(*c, "--tokenizer", s->tokenizer, "FOLDER",
             "Folder of the tokenizer: tokenizer.json, vocab.json and merges.txt, encoder.json and vocab.bpe, or "
             "vocab.txt")
      ->default_str("required, except for --train");
  add_option(*c, "--output", s->output, "PATH", "Token file to write, or with --train the folder of the tokenizer")
      ->default_str("required for FILES");
  add_option(*c, "--split", s->split, "SHARES",
             "Divide the tokens: 0.9,0.1 writes the first nine tenths to NAME_train and the rest to NAME_val; a third "
             "share goes to NAME_test")
      ->default_str("one file")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(make_number_validator(0, 1));
  c->add_flag("--end-of-text", s->end_of_text, "Append the tokenizer's end-of-text token after each file");
  CLI::Option* const text = add_option(*c, "--text", s->text, "TEXT", "Show the tokens of TEXT and their numbers");
  text->default_str("none");
  add_option(*c, "--ids", s->ids, "IDS", "Show the text of token numbers, separated by commas")
      ->default_str("none")
      ->delimiter(',')
      ->allow_extra_args(false);
  c->footer(
      "examples: tandem tokenize --train corpus.txt --vocab-size 8192 --output tokenizer\n"
      "          tandem tokenize --tokenizer tokenizer corpus.txt --output tokens.bin --split 0.9,0.1\n"
      "          tandem tokenize --tokenizer tokenizer --text \"Hello world\"");
  c->callback([s, text] {
    end_on_interrupt();
    s->has_text = text->count() > 0;
    tokenize::tokenize(*s);
  });
}

void add_trace_command(CLI::App& app, const std::vector<std::string>& arguments) {
  auto s = std::make_shared<trace::Settings>();
  CLI::App* const c =
      app.add_subcommand("trace", "Run a program that uses Tandem, and show how long its operations took");
  add_option(*c, "--out", s->out, "FILE", "Write the trace to FILE, for Perfetto or chrome://tracing");
  add_option(*c, "--json", s->json, "FILE", "Write the tables to FILE")->default_str("not written");
  add_option(*c, "--report", s->report, "FILE", "Write an HTML page with a flame graph and the tables")
      ->default_str("not written");
  c->add_flag("--kernels", s->kernels, "List the kernels of each operation below it");
  c->add_flag("--shapes", s->shapes, "Count calls with other input shapes as other operations");
  add_option(*c, "PROGRAM", s->command, "-- PROGRAM [ARGS...]", "The program to run and its arguments, after --")
      ->required();
  c->footer("example: tandem trace -- ./my_program --epochs 1");
  c->callback([s, arguments] {
    s->command.insert(s->command.end(), arguments.begin(), arguments.end());
    if (const int status = trace::trace(*s); status != 0) throw CLI::RuntimeError(status);
  });
}

void add_simulate_command(CLI::App& app) {
  auto s = std::make_shared<SimulateSettings>();
  CLI::App* const c = app.add_subcommand(
      "simulate",
      "Predict the training step of DataParallel and DistributedDataParallel on a cluster described by a file");
  CLI::Option* const file =
      add_option(*c, "CLUSTER", s->cluster, "CLUSTER", "JSON file that describes the cluster; --example prints one");
  add_option(*c, "--json", s->json, "FILE", "Write the predictions to FILE")->default_str("not written")->needs(file);
  CLI::Option* const check =
      add_option(
          *c, "--check-skill", s->check_skill, "[FOLDER]",
          "Show how well the cost model predicts measured times: those in FOLDER, or in the installed folder ddp_times")
          ->expected(0, 1)
          ->excludes(file);
  CLI::Option* const published =
      add_option(*c, "--published", s->published, "[FILE]",
                 "Show predictions next to published times: those in FILE, or in the installed published_points.json")
          ->expected(0, 1)
          ->excludes(file)
          ->excludes(check);
  CLI::Option* const example = c->add_flag("--example", s->example, "Print an example of a cluster file")
                                   ->excludes(file)
                                   ->excludes(check)
                                   ->excludes(published);
  c->footer("example: tandem simulate --example > cluster.json && tandem simulate cluster.json");
  c->callback([s, file, check, published, example] {
    check_usage(
        file->count() + check->count() + published->count() + example->count() > 0,
        "name a JSON file that describes the cluster (--example prints one), or give --check-skill or --published");
    if (published->count() > 0 && s->published.empty()) s->published = simulate::data_path("published_points.json");
    if (check->count() > 0 && s->check_skill.empty()) s->check_skill = simulate::data_path("ddp_times");
    simulate(*s);
  });
}

#if TANDEM_HAS_BENCHMARKS
void add_bench_command(CLI::App& app, std::vector<std::string> command_line) {
  struct Options : benchmarks::Settings {
    std::string markdown;
    bool list = false;
  };
  auto s = std::make_shared<Options>();
  CLI::App* const c = app.add_subcommand("bench", "Time operations and training steps of Tandem, PyTorch and LibTorch");
  add_option(*c, "--filter", s->filter, "TEXT",
             "Run only the benchmarks whose name contains TEXT; separate several texts by commas")
      ->default_str("all benchmarks");
  c->add_flag("--list", s->list, "Print the names of the benchmarks and exit");
  add_option(*c, "--repeats", s->repeats, "N", "Number of samples of each benchmark")
      ->check(make_integer_validator(1, 10000));
  add_option(*c, "--seconds", s->seconds, "SECONDS", "Target duration of a sample")
      ->check(make_number_validator(1e-6, 3600.0));
  add_option(*c, "--threads", s->threads, "N", "Number of threads of each program that is timed")
      ->default_str("all usable cores")
      ->check(make_integer_validator(1, 1024));
  add_option(*c, "--device", s->device, "NAME", "Device to compute on: cpu, or cuda (the first GPU)");
  add_option(*c, "--precision", s->precision, "NAME",
             "Precision of float32 matrix products on a GPU: highest, or high (uses TF32)")
      ->check(make_choice_validator({"highest", "high"}));
  add_option(*c, "--case", s->cases, "TEXT",
             "Run a benchmark with these sizes, for example \"clone/forward 134217728\"; may be given several times")
      ->default_str("the sizes of the table");
  CLI::Option* const peers =
      add_option(
          *c, "--peers", s->peers, "[NAMES]",
          "Other programs to time, separated by commas. Without NAMES: all known programs except those that compile "
          "each case for seconds (pytorch-compiled on the CPU, the tuned ones on a GPU)")
          ->default_str("only Tandem")
          ->delimiter(',')
          ->expected(0, -1);
  add_option(
      *c, "--baseline", s->baseline, "BUILD",
      "Compare with another build of Tandem (its folder, or its program tandem); the command fails if a benchmark "
      "named overhead is more than 5 % slower than in that build")
      ->default_str("none")
      ->excludes(peers);
  add_option(*c, "--json", s->json, "FILE", "Write all samples, the machine and the settings to FILE")
      ->default_str("not written");
  add_option(*c, "--markdown", s->markdown, "FILE", "Print a table of a file written by --json, and exit")
      ->default_str("none")
      ->check(make_existing_file_validator());
  c->footer("example: tandem bench --filter softmax,train_step");
  c->callback([s, peers, command_line = std::move(command_line)] {
    if (s->list) return list_benchmarks();
    if (!s->markdown.empty()) {
      std::printf("%s",
                  rethrow_as_usage_error([&] { return benchmarks::markdown_table(s->markdown, s->filter); }).c_str());
      return;
    }
    end_on_interrupt();
    if (peers->count() > 0 && (s->peers.empty() || s->peers[0].empty())) {
      s->peers = benchmarks::peer_names(s->device);
      std::erase_if(s->peers, [cpu = s->device == "cpu"](const std::string& peer) {
        return cpu ? peer == "pytorch-compiled" : peer.ends_with("-tuned");
      });
    }
    if (bench(*s, command_line) > 0) throw CLI::RuntimeError(1);
  });
}
#endif

int print_usage_error(const CLI::App& app, std::string message) {
  const std::string name = called_command_name(app);
  // Removes a prefix such as "compare: " from the message, because the name of the subcommand is printed in front of
  // it.
  std::istringstream words(name);
  for (std::string word; words >> word;)
    if (message.starts_with(word + ": ")) message.erase(0, word.size() + 2);
  std::fprintf(stderr, "%s: %s\n%s --help lists what is accepted\n", name.c_str(), message.c_str(), name.c_str());
  return kUsageErrorExitStatus;
}

int run(int argc, char** argv) {
  // Rewrites "tandem help demo" to "tandem demo --help".
  std::string help = "--help";
  if (argc > 1 && argv[1] == std::string("help")) {
    std::rotate(argv + 1, argv + 2, argv + argc);
    argv[argc - 1] = help.data();
  }
  CLI::App app("Tandem: tensors, autograd and data-parallel training in C++", "tandem");
  set_help(app);
  app.set_version_flag("--version", "tandem " TANDEM_VERSION, "Print the version");
  add_demo_command(app, {argv, argv + argc});
  add_compare_command(app, {argv, argv + argc});
  add_explain_command(app);
  add_finetune_command(app);
  add_pretrain_command(app);
  add_generate_command(app);
#if TANDEM_HAS_BENCHMARKS
  add_bench_command(app, {argv, argv + argc});
#endif
  // Keeps the words after "--" (a program and its arguments) from CLI11, which would split "[a,b]" into two arguments.
  std::vector<std::string> arguments;
  const bool runs_program = argc > 1 && (argv[1] == std::string("launch") || argv[1] == std::string("trace"));
  for (int i = 2; runs_program && i + 2 < argc; ++i)
    if (argv[i] == std::string("--")) {
      arguments.assign(argv + i + 2, argv + argc);
      argc = i + 2;
    }
  add_launch_command(app, arguments);
  add_flight_command(app);
  add_trace_command(app, arguments);
  add_simulate_command(app);
  add_show_command(app);
  add_tokenize_command(app);
  add_doctor_command(app);
  app.footer("tandem COMMAND --help lists the options of a command");
  try {
    app.parse(argc, argv);
    if (!app.get_subcommands().empty()) return 0;
    std::fprintf(stderr, "%s", app.help().c_str());
    return kUsageErrorExitStatus;
  } catch (const CLI::RuntimeError& error) {
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    // CLI11 reports --help and --version as errors with exit status 0.
    if (error.get_exit_code() == 0) return app.exit(error);
    return print_usage_error(app, format_parse_error(error, app));
  } catch (const UsageError& error) {
    return print_usage_error(app, error.what());
  } catch (const Interrupted& error) {
    return error.status();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tandem::tools

int main(int argc, char** argv) {
  const int status = tandem::tools::run(argc, argv);
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::cout) return status;
  std::fprintf(stderr, "tandem: cannot write to the standard output: %s\n", std::strerror(errno));
  return 1;
}
