// Reads and writes tokenizer.json of BERT's kind. Only sources that compile the JSON parser include this header.
#pragma once
#include "tandem/text/bert_tokenizer.h"
#include "tandem/text/json_value.h"

namespace tandem::text::detail {

/// Reads the tokenizer in tokenizer.json, whose model is WordPiece.
/// @param config  tokenizer_config.json, if it exists: model_max_length and the names of special tokens
/// @throws Error  that names the file and the place of anything that is damaged or not implemented
std::shared_ptr<const Tokenizer> read_bert_json(const JsonValue& file, const std::optional<JsonValue>& config);
/// Reads the options of BERT's tokenizers in tokenizer_config.json.
void read_bert_config(const JsonValue& config, BertTokenizerOptions& options);

}  // namespace tandem::text::detail
