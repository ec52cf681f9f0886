// What the options of all subcommands share: how --help looks, which values are accepted, and what a wrong call says.
#pragma once
#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <vector>

namespace tandem::tools {

/// Makes --help of the app and of the subcommands that are added later look alike, each option with its default.
void set_help(CLI::App& app);

/// An option whose value --help calls `value`: "N", "FILE".
template <class T>
CLI::Option* option(CLI::App& app, const std::string& name, T& variable, const char* value, const std::string& text) {
  return app.add_option(name, variable, text)->type_name(value);
}

/// One of these words.
CLI::Validator one_of(std::vector<std::string> words);
/// A whole number of `least` to `most`.
CLI::Validator whole_number(int64_t least, int64_t most = std::numeric_limits<int64_t>::max());
/// A number of `least` to `most`.
CLI::Validator number(double least, double most);

/// A file that exists.
CLI::Validator existing_file();

/// Adds `tandem compare`, with `page` and `diff` below it.
/// @param command_line  as the user gave it, for the report
void add_compare(CLI::App& app, std::vector<std::string> command_line);
void add_explain(CLI::App& app);

/// What is wrong with a command line that CLI11 refuses, in a sentence that says what is accepted.
std::string message_of(const CLI::ParseError& error, const CLI::App& app);
/// "tandem compare diff": the subcommand that the command line names.
std::string called_name(const CLI::App& app);

}  // namespace tandem::tools
