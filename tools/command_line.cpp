// Implements the layout of --help, the validators of option values, and the error messages for invalid command lines,
// on top of CLI11.
#include "tandem/tools/command_line.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "tandem/tools/usage.h"

namespace tandem::tools {
namespace {

// Text columns at which the descriptions of options in --help begin and end.
constexpr size_t kDescriptionColumn = 22, kLineWidth = 100;

/// Wraps text at spaces into lines from column `left` to kLineWidth. The first line gets no indentation.
std::string wrap_text(const std::string& text, size_t left) {
  std::string out;
  size_t column = left;
  std::istringstream words(text);
  for (std::string word, next; words >> word;) {
    if (word == "(default:" && words >> next) word += " " + next;  // keeps "(default: x)" on one line
    if (column > left && column + 1 + word.size() > kLineWidth) {
      out += "\n" + std::string(left, ' ');
      column = left;
    }
    if (column > left) {
      out += " ";
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}
std::string format_entry(std::string left, const std::string& text) {
  left.insert(0, "  ");
  if (left.size() + 2 > kDescriptionColumn)
    left += "\n" + std::string(kDescriptionColumn, ' ');
  else
    left.resize(kDescriptionColumn, ' ');
  return left + wrap_text(text, kDescriptionColumn) + "\n";
}
bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }
std::string format_default(const CLI::Option& option) {
  std::string value = option.get_default_str();
  // CLI11 puts lists in brackets.
  if (value.starts_with("[") && value.ends_with("]")) value = value.substr(1, value.size() - 2);
  return is_flag(option) || value.empty() ? "" : " (default: " + value + ")";
}

std::string format_help(const CLI::App* app, const std::string& name, CLI::AppFormatMode) {
  std::string usage = "usage: " + name, arguments, options, commands;
  for (const CLI::Option* o : app->get_options()) {
    if (o->get_group().empty()) continue;  // skips hidden options
    if (o->get_positional()) {
      const std::string shown = o->get_type_name();
      usage += " " + (o->get_required() ? shown : "[" + shown + "]");
      arguments += format_entry(shown, o->get_description());
      continue;
    }
    std::string left = o->get_name(false, true);
    if (!is_flag(*o)) left += " " + o->get_type_name();
    options += format_entry(left, o->get_description() + format_default(*o));
  }
  for (const CLI::App* sub : app->get_subcommands({}))
    commands += format_entry(sub->get_name(), sub->get_description());
  usage.insert(std::string("usage: " + name).size(), " [OPTIONS]");
  if (!commands.empty())
    usage += app->get_require_subcommand_min() > 0 || !app->get_parent() ? " COMMAND" : " [COMMAND]";
  std::string text = wrap_text(app->get_description(), 0) + "\n\n" + usage + "\n";
  if (!arguments.empty()) text += "\n" + arguments;
  if (!commands.empty()) text += "\ncommands:\n" + commands;
  text += "\noptions:\n" + options;
  if (!app->get_footer().empty()) text += "\n" + app->get_footer() + "\n";
  return text;
}

const CLI::App& called_subcommand(const CLI::App& app) {
  // CLI11 returns only the subcommands that are on the command line.
  const std::vector<CLI::App*> subcommands = app.get_subcommands();
  return subcommands.empty() ? app : called_subcommand(*subcommands.back());
}

/// Returns the error message for words that CLI11 did not recognize: those left over in `app` or, if there are none, in
/// its parent.
std::string explain_unknown_arguments(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  if (words.empty() && app.get_parent()) return explain_unknown_arguments(*app.get_parent());
  const std::string word = words.empty() ? "" : words[0];
  if (word.starts_with("-")) {
    std::vector<std::string> known;
    for (const CLI::Option* o : app.get_options())
      if (!o->get_group().empty() && !o->get_positional())
        for (const std::string& name : o->get_lnames()) known.push_back("--" + name);
    std::string text = "there is no option " + word.substr(0, word.find('=')) +
                       suggest_nearest_word(word.substr(0, word.find('=')), known);
    if (app.get_name() == "launch" || app.get_name() == "trace")
      text += "; options of the program come after --, as in: tandem " + app.get_name() + " -- ./program --option";
    return text;
  }
  std::vector<std::string> commands;
  for (const CLI::App* sub : app.get_subcommands({})) commands.push_back(sub->get_name());
  if (commands.empty()) return "'" + word + "' is an unexpected argument; option names begin with --";
  return "there is no command '" + word + "'; accepted: " + join_with_commas(commands) +
         suggest_nearest_word(word, commands);
}

}  // namespace

void set_help(CLI::App& app) {
  app.option_defaults()->always_capture_default();
  app.set_help_flag("-h,--help", "Print this help");
  app.formatter_fn(format_help);
}

CLI::Validator make_choice_validator(std::vector<std::string> words) {
  return {[words = std::move(words)](std::string& text) {
            if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
            return "'" + text + "' is not known; accepted: " + join_with_commas(words) +
                   suggest_nearest_word(text, words);
          },
          ""};
}
CLI::Validator make_integer_validator(int64_t min_value, int64_t max_value) {
  return {[=](std::string& text) {
            int64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool is_number = end == text.data() + text.size() && error != std::errc::invalid_argument;
            if (is_number && error == std::errc() && value >= min_value && value <= max_value) return std::string();
            std::string accepted = "; accepted: ";
            accepted += is_number ? "" : "a whole number of ";
            accepted += std::to_string(min_value);
            accepted +=
                max_value == std::numeric_limits<int64_t>::max() ? " or more" : " to " + std::to_string(max_value);
            return "'" + text + "' is " + (is_number ? "out of range" : "not a whole number") + accepted;
          },
          ""};
}
CLI::Validator make_number_validator(double min_value, double max_value) {
  return {[=](std::string& text) {
            double value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool is_number = end == text.data() + text.size() && error == std::errc();
            if (is_number && value >= min_value && value <= max_value) return std::string();
            std::ostringstream accepted;
            accepted << "; accepted: a number of " << min_value << " to " << max_value;
            return "'" + text + "' is " + (is_number ? "out of range" : "not a number") + accepted.str();
          },
          ""};
}

CLI::Validator make_existing_file_validator() {
  return {[](std::string& text) {
            std::error_code none;
            return std::filesystem::is_regular_file(text, none) ? std::string() : "there is no file '" + text + "'";
          },
          ""};
}

std::string called_command_name(const CLI::App& app) {
  std::string name;
  for (const CLI::App* each = &called_subcommand(app); each; each = each->get_parent())
    name = each->get_name() + (name.empty() ? "" : " ") + name;
  return name;
}

void add_strategy_options(CLI::App& app, std::string& strategy, int64_t& devices, std::string& device,
                          std::string& precision) {
  add_option(app, "--strategy", strategy, "NAME",
             "single: one device; dp: DataParallel; dp_loss: DataParallel whose replicas compute the loss; ddp: "
             "DistributedDataParallel, over threads or, under `tandem launch`, processes")
      ->check(make_choice_validator({"single", "dp", "dp_loss", "ddp"}));
  add_option(app, "--devices", devices, "N", "Number of devices")
      ->default_str("1 for single, else all GPUs, or 2 virtual CPU devices")
      ->check(make_integer_validator(1, 64));
  add_option(app, "--device", device, "NAME", "Kind of devices: auto (GPUs if there are any), cpu or gpu")
      ->check(make_choice_validator({"auto", "cpu", "gpu"}));
  add_option(app, "--precision", precision, "NAME", "32, bf16-mixed or 16-mixed")
      ->check(make_choice_validator({"32", "bf16-mixed", "16-mixed"}));
}

std::string format_parse_error(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::App& last = called_subcommand(app);
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) return explain_unknown_arguments(last);
  const std::string text = error.what(), name = text.substr(0, text.find(':'));
  if (dynamic_cast<const CLI::RequiredError*>(&error) && !last.get_footer().empty())
    return text + "\n" + last.get_footer();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    if (text.ends_with("missing")) return name + " needs a value";
    for (const char* words : {"At Most", "At most"})  // the wording depends on the version of CLI11
      if (text.find(words) != std::string::npos) return name + " is given more than once";
  }
  return text;
}

}  // namespace tandem::tools
