// Tests wrong calls of the `tandem` command and of ./run: exit status, error message and hint. Also tests Ctrl-C.
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "tandem/core/threads/cpu_info.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/data/idx_files.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"
#include "tandem/tools/usage.h"

using namespace tandem::test;

namespace {

const std::string kSource = std::string(kFixtures) + "/../..";

struct Digits {
  Digits() { write_digits(folder.path(), 40, 10); }
  TemporaryFolder folder;
};
Result shell(const std::string& script) { return run_program("/bin/sh", {"-c", script}); }

}  // namespace

TEST_CASE("a wrong call says what is accepted, names no place in the sources, and ends with 2", "[command][usage]") {
  const Digits digits;
  const TemporaryFolder empty;
  const std::string& data = digits.folder.path();
  struct Case {
    std::vector<std::string> arguments;
    std::vector<std::string> words;
  };
  std::vector<Case> cases = {
      {{}, {"usage: tandem [OPTIONS] COMMAND", "demo", "compare", "launch", "doctor"}},
      {{"frobnicate"}, {"tandem: there is no command 'frobnicate'; accepted: demo, compare,", "tandem --help"}},
      {{"demmo"}, {"accepted: demo, ", "did you mean 'demo'?"}},
      {{"compare", "dif"}, {"tandem compare: there is no command 'dif'; accepted: page, diff; did you mean 'diff'?"}},
      {{"--frobnicate"}, {"there is no option --frobnicate"}},
      {{"demo", "--batchsize", "4"}, {"there is no option --batchsize; did you mean '--batch-size'?", "demo --help"}},
      {{"demo", "4"}, {"'4' is an unexpected argument"}},
      {{"demo", "--model", "resnet"}, {"--model: 'resnet' is not known; accepted: mlp, lenet, fashion_cnn"}},
      {{"demo", "--model", "lennet"}, {"did you mean 'lenet'?"}},
      {{"demo", "--model", "fashion"}, {"did you mean 'fashion_cnn'?"}},
      {{"demo", "--mode", "single,dpp"}, {"--mode: 'dpp' is not known; accepted: single, dp,", "did you mean 'dp'?"}},
      {{"demo", "--batch-size", "abc"},
       {"--batch-size: 'abc' is not a whole number; accepted: a whole number of 1 to"}},
      {{"demo", "--batch-size", "1.5"}, {"--batch-size: '1.5' is not a whole number"}},
      {{"demo", "--batch-size", "0"}, {"--batch-size: '0' is out of range; accepted: 1 to 60000"}},
      {{"demo", "--seed", "99999999999999999999"},
       {"--seed: '99999999999999999999' is out of range; accepted: 0 or more"}},
      {{"demo", "--epochs"}, {"--epochs needs a value"}},
      {{"demo", "--epochs", "1", "--epochs", "2"}, {"--epochs is given more than once"}},
      {{"demo", "--threads", "5000"}, {"--threads: '5000' is out of range; accepted: 1 to 1024"}},
      {{"demo", "--data", "/no/such/folder"},
       {"--data /no/such/folder: there is no such folder", "apt install dataset-fashion-mnist",
        "fetch_fashion_mnist.sh FOLDER (in tools/ of the sources"}},
      {{"demo", "--data", empty.path()},
       {"there is neither train-images-idx3-ubyte nor train-images-idx3-ubyte.gz in it", "dataset-fashion-mnist"}},
      {{"demo", "--data", data, "--load", "/no/such/file"}, {"--load: there is no file '/no/such/file'"}},
      {{"demo", "--data", data, "--batch-size", "2", "--ranks", "3"}, {"a batch of 2 images for 3 devices or ranks"}},
      {{"compare", "--devices", "two"}, {"--devices: 'two' is not a whole number"}},
      {{"compare", "--mode", "dpp", "--device", "cpu"},
       {"tandem compare: there is no mode 'dpp'; accepted: single, dp,"}},
      {{"compare", "--device", "cpu", "--data", "/no/such/folder"},
       {"there is no such folder", "dataset-fashion-mnist"}},
      {{"launch"}, {"PROGRAM is required", "example: tandem launch -n 2 -- "}},
      {{"launch", "-n", "none", "--", "true"}, {"--ranks: 'none' is not a whole number"}},
      {{"launch", "true", "--epochs", "3"}, {"there is no option --epochs", "options of the program come after --"}},
      {{"simulate"}, {"name a JSON file that describes the cluster", "--check-skill"}},
      {{"simulate", "/no/such/file"}, {"/no/such/file", "No such file"}},
      {{"simulate", "--json", "x.json"}, {"--json requires CLUSTER"}},
      {{"frobnicate", "demo"}, {"there is no command 'frobnicate'"}},
      {{"demo", "--data", data, "--json", "/no/such/folder/x"},
       {"--json /no/such/folder/x cannot be written: /no/such/"}},
      {{"demo", "--data", data, "--report", data}, {"--report " + data + " cannot be written: it is a folder"}},
      {{"compare", "diff", "before.json"}, {"tandem compare diff: AFTER is required"}},
      {{"compare", "page", kSource + "/docs/compare_example/report.json", "--out", "/no/such/folder/x"},
       {"--out /no/such/folder/x cannot be written"}},
      {{"explain", "--json", "/no/such/folder/x"}, {"--json /no/such/folder/x cannot be written"}},
      {{"explain", "--mode", "dp", "--rank-seeds"}, {"--rank-seeds applies to DDP, but --mode is dp"}},
      {{"finetune", "--train", "train.tsv"}, {"--train needs --model"}},
      {{"finetune", "--model", "m", "--train", "train.tsv"}, {"--train and --validation go together"}},
      {{"finetune", "--test", "test.tsv"}, {"--test needs --train and --validation"}},
      {{"finetune", "--strategy", "fsdp"}, {"--strategy: 'fsdp' is not known; accepted: single, dp, dp_loss, ddp"}},
      {{"finetune", "--schedule", "step"}, {"--schedule: 'step' is not known; accepted: linear, cosine, constant"}},
      {{"finetune", "--warmup", "2"}, {"--warmup: '2' is out of range; accepted: a number of 0 to 1"}},
      {{"finetune", "--log", "/no/such/folder/x"}, {"--log /no/such/folder/x cannot be written"}},
      {{"explain", "--divide-loss"}, {"--divide-loss requires --accumulate"}},
      {{"launch", "--", "/no/such/program"}, {"tandem launch: cannot run '/no/such/program': No such file"}},
      {{"launch", "--output", "/dev/null/x", "--", "true"}, {"--output /dev/null/x cannot be created"}},
      {{"trace"}, {"PROGRAM is required", "example: tandem trace -- "}},
      {{"trace", "--json", "/no/such/folder/x", "--", "true"}, {"--json /no/such/folder/x cannot be written"}},
      {{"show"}, {"tandem show: FILE is required", "example: tandem show "}},
      {{"show", "net.pt", "--json", "/no/such/folder/x"}, {"--json /no/such/folder/x cannot be written"}},
      {{"pretrain"}, {"tandem pretrain: give the texts to train on, or --tokens, a token file"}},
      {{"pretrain", "/no/such/text", "--output", empty / "out"}, {"/no/such/text"}},
      {{"pretrain", "--tokens", "/no/such/tokens"}, {"--tokens: there is no file '/no/such/tokens'"}},
      {{"pretrain", "--tokens", kSource + "/README.md", "--output", empty / "out"},
       {"README.md does not begin with TDTOKENS"}},
      {{"pretrain", "x", "--output", "/dev/null/x"}, {"--output /dev/null/x cannot be created"}},
      {{"pretrain", "x", "--heads", "3"}, {"--heads 3 must divide --width 128"}},
      {{"pretrain", "x", "--validation", "2", "--output", empty / "out"}, {"--validation: 2 is out of range"}},
      {{"pretrain", "x", "--strategy", "ddpp"}, {"--strategy: 'ddpp' is not known", "did you mean 'ddp'?"}},
      {{"pretrain", "x", "--min-lr", "1"}, {"--min-lr 1 is above --lr 0.002"}},
      {{"generate"}, {"--model is required"}},
      {{"generate", "--model", "/no/such/folder"}, {"load_tokenizer: /no/such/folder cannot be read"}},
      {{"generate", "--model", "m", "--prompt", "x", "--top-p", "2"}, {"--top-p: '2' is out of range"}},
      {{"generate", "--model", "x", "--temperature", "0"}, {"--temperature: '0' is out of range"}},
      {{"generate", "--model", "x", "--prompt", "a", "--prompt-file", kSource + "/README.md"},
       {"give either --prompt or --prompt-file, not both"}},
      {{"tokenize"}, {"tandem tokenize: FILES are required, or --text, or --ids"}},
      {{"tokenize", "/no/such/text"}, {"/no/such/text"}},
      {{"tokenize", "--train", kSource + "/README.md"}, {"--output is required: the folder to save the tokenizer in"}},
      {{"tokenize", "--train", kSource + "/README.md", "--output", "/dev/null/x"},
       {"--output /dev/null/x cannot be created"}},
      {{"tokenize", "--train", kSource + "/README.md", "--vocab-size", "10"}, {"--vocab-size", "10", "257"}},
      {{"tokenize", "--train", "--text", "x"}, {"only one of --train, --text and --ids may be given"}},
      {{"tokenize", "--text", "x"}, {"--tokenizer is required with --text and --ids"}},
      {{"tokenize", "--text", "x", "--tokenizer", "/no/such/folder"},
       {"load_tokenizer: /no/such/folder cannot be read"}},
      {{"tokenize", kSource + "/README.md"}, {"--output is required: the token file to write"}},
      {{"tokenize", kSource + "/README.md", "--output", "x.bin"}, {"--tokenizer is required to encode"}},
      {{"tokenize", kSource + "/README.md", "--output", "x.bin", "--tokenizer", "t", "--split", "0.5,0.6"},
       {"--split needs two or three shares whose sum is 1"}},
      {{"doctor", "now"}, {"'now' is an unexpected argument"}},
  };
  const std::vector<Case> of_bench = {
      {{"bench", "--filter", "nothing"}, {"no benchmark's name contains 'nothing'"}},
      {{"bench", "--case", "add/forward 3"},
       {"'add/forward 3' has sizes of 1 input(s); accepted: 2, as in 'add/forward "}},
      {{"bench", "--case", "add/forward 3,99999999999999999999"}, {"'99999999999999999999' in 'add/forward 3,"}},
      {{"bench", "--case", "matmul/forward 3x4,5x6"},
       {"matmul: mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"}},
      {{"bench", "--filter", "add/overhead", "--json", "/dev/null/folder/x"}, {"--json /dev/null/folder/x cannot be"}},
      {{"bench", "--filter", "add/overhead", "--json", "/dev/null/x"}, {"/dev/null: Not a directory"}},
      {{"bench", "--markdown", kSource + "/README.md"}, {"README.md is not a file that `tandem bench --json` wrote"}},
      {{"bench", "--baseline", "/no/such/build"}, {"/no/such/build is not a build of Tandem"}},
  };
  const bool has_bench = run_program(kCommand, {"--help"}).output.find("  bench ") != std::string::npos;
  if (has_bench) cases.insert(cases.end(), of_bench.begin(), of_bench.end());
  for (const Case& c : cases) {
    const Result result = run_program(kCommand, c.arguments);
    INFO(result.output);
    CHECK(result.status == 2);
    for (const std::string& word : c.words) CHECK_THAT(result.output, Contains(word));
    CHECK_THAT(result.output, !Contains(".cpp:") && !Contains("A subcommand is required"));
  }
}

TEST_CASE("errors of the library keep their place in the sources, and end with 1", "[command][usage]") {
  const Digits digits;
  write_file(digits.folder / "train-images-idx3-ubyte", "no images");
  const Result result = run_program(kCommand, {"demo", "--mode", "single", "--data", digits.folder.path()});
  INFO(result.output);
  CHECK(result.status == 1);
  CHECK_THAT(result.output, Contains("read_idx: ") && Contains("[idx.cpp:"));
}

TEST_CASE("more threads than cores are not used, which the command says", "[command][usage]") {
  const Digits digits;
  const Result result = run_program(kCommand, {"demo", "--mode", "single", "--model", "mlp", "--epochs", "0",
                                               "--threads", "1000", "--data", digits.folder.path()});
  INFO(result.output);
  CHECK(result.status == 0);
  const std::string cores = std::to_string(tandem::num_usable_cores());
  CHECK_THAT(result.output, Contains("--threads 1000: ") && Contains("so it uses " + cores + " thread(s)"));
}

TEST_CASE("help and version succeed, and every option of demo shows its default", "[command][usage]") {
  const std::string help = run_program(kCommand, {"--help"}).output;
  const bool has_bench = help.find("  bench ") != std::string::npos;
  CHECK(run_program(kCommand, {"help"}).output == help);
  CHECK(run_program(kCommand, {"help", "demo"}).output == run_program(kCommand, {"demo", "--help"}).output);
  const Result version = run_program(kCommand, {"--version"});
  CHECK(version.status == 0);
  CHECK_THAT(version.output, Catch::Matchers::Matches("tandem [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  const auto check_file = [](const std::string& command, const std::string& help_now) {
    // `./run demo --help` prints this file before anything is built.
    INFO("tools/help/record.sh writes these files anew");
    CHECK(read_file(kSource + "/tools/help/" + command + ".txt") == help_now);
  };
  if (has_bench) check_file("tandem", help);
  std::istringstream listed(help.substr(help.find("\ncommands:\n") + 11));
  int commands = 0;
  for (std::string line; std::getline(listed, line) && line.starts_with("  ");) {
    if (line[2] == ' ') continue;  // continues the previous line
    const std::string command = line.substr(2, line.find(' ', 2) - 2);
    const Result result = run_program(kCommand, {command, "--help"});
    INFO(command);
    CHECK(result.status == 0);
    check_file(command, result.output);
    ++commands;
  }
  CHECK(commands >= 8);
  std::istringstream lines(run_program(kCommand, {"demo", "--help"}).output);
  std::string option, all;
  int options = 0;
  const auto check_last = [&] {
    INFO(option);
    const bool is_flag = option.find("--help") != std::string::npos || option.find("--capture") != std::string::npos;
    if (!option.empty() && !is_flag) CHECK_THAT(option, Contains("(default: ") && Contains(")\n"));
    options += !option.empty() && !is_flag;
  };
  for (std::string line; std::getline(lines, line);) {
    all += line + "\n";
    const bool begins = line.starts_with("  -"), goes_on = line.starts_with("    ");
    if (!goes_on) check_last(), option.clear();
    if (begins || (goes_on && !option.empty())) option += line + "\n";
  }
  CHECK(options >= 15);
  for (const char* words : {"(default: fashion_cnn)", "(default: 1)", "(default: 128)", "(default: all usable cores)",
                            "(default: /usr/share/datasets/fashion-mnist)"})
    CHECK_THAT(all, Contains(words));
}

TEST_CASE("Ctrl-C ends with 130, and no rank is blamed", "[command][usage]") {
  const Digits digits;
  const std::vector<std::string> demo = {
      "demo", "--model", "mlp", "--batch-size", "16", "--data", digits.folder.path(), "--epochs", "100000", "--mode"};
  const auto with = [](std::vector<std::string> arguments, const std::string& last) {
    arguments.push_back(last);
    return arguments;
  };
  struct Case {
    std::vector<std::string> arguments;
    std::string until;
  };
  std::vector<Case> cases = {{with(demo, "single"), "epoch 2"},
                             {with(demo, "ddp_local"), "epoch 2"},
                             {{"launch", "-n", "3", "--", "sh", "-c", "echo ready; exec sleep 100"}, "[2] ready"}};
  if (TANDEM_HAS_GLOO) cases.push_back({with(demo, "ddp_gloo"), "epoch 2"});
  for (const Case& c : cases) {
    const Result result = interrupt_program(kCommand, c.arguments, c.until);
    INFO(c.arguments.back() << ":\n"
                            << result.output.substr(result.output.size() -
                                                    std::min<size_t>(result.output.size(), 2000)));
    CHECK(result.status == 130);
    CHECK_THAT(result.output, Contains("interrupted"));
    for (const char* blame : {"failed", "was ended by", "is gone", "error:", ".cpp:"})
      CHECK_THAT(result.output, !Contains(blame));
  }
}

TEST_CASE("Ctrl-C leaves a report of what compare has measured", "[command][usage][compare]") {
  const TemporaryFolder out;
  std::vector<std::string> arguments = {"compare", "--model", "mlp",     "--quick",   "--device", "cpu",   "--repeats",
                                        "1000",    "--mode",  "dp_loss", "--seconds", "0.001",    "--out", out.path()};
  if (TANDEM_HAS_GLOO)  // most of the time is spent in ranks that are processes
    arguments.insert(arguments.end(), {"--backend", "gloo", "--mode", "ddp_gloo"});
  const Result result = interrupt_program(kCommand, arguments, "  0 %");
  INFO(result.output);
  CHECK(result.status == 130);
  CHECK_THAT(result.output, Contains("interrupted") && !Contains("failed with exit status"));
  CHECK(std::filesystem::exists(out / "report.json"));
}

TEST_CASE("the script run helps before anything is built", "[command][usage]") {
  const TemporaryFolder clone;
  std::filesystem::copy(kSource + "/run", clone / "run");
  std::filesystem::create_directories(clone / "tools/help");
  std::filesystem::copy(kSource + "/tools/help", clone / "tools/help");
  const std::string run = clone / "run";
  const Result help = run_program(run, {"--help"});
  CHECK(help.status == 0);
  CHECK_THAT(help.output, Contains("./run demo") && Contains("./run doctor"));
  const Result demo = run_program(run, {"demo", "--help"});
  CHECK(demo.status == 0);
  CHECK_THAT(demo.output, Contains("usage: tandem demo") && Contains("(default: fashion_cnn)"));
  const Result doctor = run_program(run, {"doctor"});
  INFO(doctor.output);
  CHECK(doctor.status <= 1);  // 1 if this machine has a problem
  CHECK_THAT(doctor.output, Contains("compiler") && Contains("cmake") && Contains("not built yet"));
  const Result unknown = run_program(run, {"frobnicate"});
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.output, Contains("there is no job 'frobnicate'") && Contains("./run demo"));
}

TEST_CASE("compare.py shows its help", "[command][usage]") {
  if (shell("command -v python3").status != 0) {
    WARN("SKIPPED: there is no python3");
    return;
  }
  const Result help =
      run_program("/usr/bin/env", {"python3", kSource + "/benchmarks/collectives/compare.py", "--help"});
  INFO(help.output);
  CHECK(help.status == 0);
  CHECK_THAT(help.output, Contains("usage: compare.py") && !Contains("Traceback"));
  const Result wrong =
      run_program("/usr/bin/env", {"python3", kSource + "/benchmarks/collectives/compare.py", "nowhere"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.output, Contains("nowhere has no benchmarks/benchmark_ddp"));
}

TEST_CASE("the nearest word is the one that was meant", "[usage]") {
  using tandem::tools::nearest_word;
  const std::vector<std::string> words = {"demo", "compare", "doctor", "simulate", "--batch-size"};
  CHECK(nearest_word("dmeo", words) == "demo");
  CHECK(nearest_word("comparre", words) == "compare");
  CHECK(nearest_word("sim", words) == "simulate");
  CHECK(nearest_word("--batch_size", words) == "--batch-size");
  CHECK(nearest_word("frobnicate", words).empty());
  CHECK(nearest_word("", words).empty());
}
