// Helpers for the options of all subcommands: the layout of --help, validators of values, and messages for wrong calls.
#pragma once
#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <vector>

namespace tandem::tools {

/// Makes `app` and the subcommands added to it later print --help in one layout, with each option's default.
void set_help(CLI::App& app);

/// Adds an option. @param value  placeholder for the option's value in --help: "N", "FILE"
template <class T>
CLI::Option* add_option(CLI::App& app, const std::string& name, T& variable, const char* value,
                        const std::string& text) {
  return app.add_option(name, variable, text)->type_name(value);
}

/// Returns a validator that accepts only the given words.
CLI::Validator make_choice_validator(std::vector<std::string> words);
/// Returns a validator that accepts whole numbers from `min_value` to `max_value`.
CLI::Validator make_integer_validator(int64_t min_value, int64_t max_value = std::numeric_limits<int64_t>::max());
/// Returns a validator that accepts numbers from `min_value` to `max_value`.
CLI::Validator make_number_validator(double min_value, double max_value);

/// Returns a validator that accepts only the path of an existing regular file.
CLI::Validator make_existing_file_validator();

/// Adds `tandem compare`, with `page` and `diff` below it.
/// @param command_line  the user's command line, recorded in the report
void add_compare_command(CLI::App& app, std::vector<std::string> command_line);
void add_explain_command(CLI::App& app);
void add_finetune_command(CLI::App& app);
void add_pretrain_command(CLI::App& app);
void add_generate_command(CLI::App& app);

/// Adds the options of commands that train with the Trainer: --strategy, --devices, --device and --precision.
void add_strategy_options(CLI::App& app, std::string& strategy, int64_t& devices, std::string& device,
                          std::string& precision);

/// Returns the error message for a command line that CLI11 rejects. The message names the accepted values or words.
std::string format_parse_error(const CLI::ParseError& error, const CLI::App& app);
/// Returns the full name of the subcommand that the user called, such as "tandem compare diff".
std::string called_command_name(const CLI::App& app);

}  // namespace tandem::tools
