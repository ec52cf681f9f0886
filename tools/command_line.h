// What the options of all subcommands share: how --help looks, which values are accepted, and what a wrong call says.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tandem::tools {

/// Makes --help of the app and of the subcommands that are added later look alike, each option with its default.
void set_help(CLI::App& app);

/// One of these words.
CLI::Validator one_of(std::vector<std::string> words);
/// A whole number of `least` to `most`.
CLI::Validator whole_number(int64_t least, int64_t most);
/// A number of `least` to `most`.
CLI::Validator number(double least, double most);

/// A file that exists.
CLI::Validator existing_file();

/// What is wrong with a command line that CLI11 refuses, in a sentence that says what is accepted.
std::string message_of(const CLI::ParseError& error, const CLI::App& app);
/// "tandem compare diff": the subcommand that the command line names.
std::string called_name(const CLI::App& app);

}  // namespace tandem::tools
