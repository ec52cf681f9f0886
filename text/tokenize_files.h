// tokenize_files: converts text files to a token file.
#pragma once
#include "tandem/text/token_file.h"
#include "tandem/text/tokenizer.h"

namespace tandem::text {

/// Encodes text files and writes all tokens to a token file. Each line is encoded with the characters that end it, as
/// train_bpe_from_files() counts them, on several threads. After each file comes the tokenizer's eos_token, if it has
/// one.
/// @throws Error that names the file if a text file cannot be read or is empty, or the token file cannot be written
TokenFile tokenize_files(const Tokenizer& tokenizer, const std::vector<std::string>& text_files,
                         const std::string& token_file);

}  // namespace tandem::text
