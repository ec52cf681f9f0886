// Implements tokenize_files.
#include "tandem/text/tokenize_files.h"

#include <algorithm>
#include <string_view>

#include "tandem/serialize/file.h"

namespace tandem::text {

TokenFile tokenize_files(const Tokenizer& tokenizer, const std::vector<std::string>& text_files,
                         const std::string& token_file) {
  constexpr size_t kLinesAtOnce = 4096;  // limits the memory that encodings take
  TokenFileWriter writer(token_file, tokenizer.vocab_size());
  const EncodeOptions options =
      EncodeOptions().add_special_tokens(false).truncation("do_not_truncate").padding("do_not_pad");
  std::vector<std::string> lines;
  const auto encode = [&] {
    for (const Encoding& e : tokenizer.encode_batch(lines, {}, options)) writer.append(e.ids);
    lines.clear();
  };
  for (const std::string& path : text_files) {
    const tandem::detail::FileSource file("tokenize_files", path);
    TANDEM_CHECK(file.size() > 0, "tokenize_files: ", path, " is empty; accepted: a text");
    const std::shared_ptr<char> bytes = file.map_file();
    for (std::string_view rest(bytes.get(), file.size()); !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
      lines.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end);
      if (lines.size() == kLinesAtOnce) encode();
    }
    encode();
    if (const std::optional<int64_t> eos = tokenizer.eos_token_id()) writer.append({*eos});
  }
  writer.finish();
  return TokenFile(token_file);
}

}  // namespace tandem::text
