// Implements the reading of tokenizer.json of BERT's kind, and BertTokenizer::save().
#include "tandem/text/bert_json.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "tandem/core/internal.h"
#include "tandem/serialize/file.h"

namespace tandem::text {
namespace detail {
namespace {

using Json = nlohmann::json;

/// Returns the tokens of model.vocab by number.
std::vector<std::string> read_vocab(const JsonValue& vocab) {
  vocab.check(vocab.is_object(), "an object");
  std::vector<std::string> tokens(vocab.json().size());
  std::vector<bool> known(tokens.size());
  for (const auto& [token, number] : vocab.json().items()) {
    const int64_t id = JsonValue(number, vocab.place() + "." + token).integer();
    TANDEM_CHECK(id >= 0 && id < static_cast<int64_t>(tokens.size()) && !known[static_cast<size_t>(id)], vocab.place(),
                 ": \"", token, "\" has the number ", id, "; accepted: each number from 0 to ", tokens.size(),
                 " - 1 once, because there are ", tokens.size(), " tokens");
    tokens[static_cast<size_t>(id)] = token;
    known[static_cast<size_t>(id)] = true;
  }
  return tokens;
}

std::vector<AddedToken> read_added_tokens(const JsonValue& list) {
  std::vector<AddedToken> out;
  for (const JsonValue& each : list.elements()) {
    AddedToken token;
    token.content = each.at("content").text();
    token.id = each.at("id").integer();
    token.special = each.at("special").boolean();
    token.normalized = each.boolean_or("normalized", !token.special);
    token.lstrip = each.boolean_or("lstrip", false);
    token.rstrip = each.boolean_or("rstrip", false);
    token.single_word = each.boolean_or("single_word", false);
    each.at("content").check(!token.content.empty(), "strings that are not empty");
    out.push_back(std::move(token));
  }
  std::stable_sort(out.begin(), out.end(), [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  return out;
}

void check_type(const JsonValue& value, const std::string& accepted) {
  const JsonValue type = value.at("type");
  type.check(type.text() == accepted, accepted);
}

/// A part of a template: a special token, or one of the two texts.
struct Piece {
  std::string name;  // of the token, or A or B
  bool is_text;
  int64_t type_id;
};
std::vector<Piece> read_pieces(const JsonValue& list) {
  std::vector<Piece> out;
  for (const JsonValue& each : list.elements()) {
    const auto token = each.find("SpecialToken");
    const JsonValue piece = token ? *token : each.at("Sequence");
    out.push_back({piece.at("id").text(), !token, piece.at("type_id").integer()});
  }
  return out;
}
bool has_form(const std::vector<Piece>& pieces, const std::vector<Piece>& form) {
  return std::equal(pieces.begin(), pieces.end(), form.begin(), form.end(), [](const Piece& a, const Piece& b) {
    return a.name == b.name && a.is_text == b.is_text && a.type_id == b.type_id;
  });
}

void read_template(const JsonValue& processor, BertTokenizerOptions& o) {
  const JsonValue single = processor.at("single"), pair = processor.at("pair");
  const std::vector<Piece> pieces = read_pieces(single);
  const char* const accepted = "BERT's template: [CLS] A [SEP], and [CLS] A [SEP] B:1 [SEP]:1";
  single.check(pieces.size() == 3 && !pieces[0].is_text && !pieces[2].is_text, accepted);
  const std::string &cls = pieces[0].name, &sep = pieces[2].name;
  single.check(has_form(pieces, {{cls, false, 0}, {"A", true, 0}, {sep, false, 0}}), accepted);
  pair.check(
      has_form(read_pieces(pair), {{cls, false, 0}, {"A", true, 0}, {sep, false, 0}, {"B", true, 1}, {sep, false, 1}}),
      accepted);
  for (const auto& [name, field] : {std::pair{cls, &o.cls_token()}, std::pair{sep, &o.sep_token()}}) {
    const JsonValue token = processor.at("special_tokens").at(name);
    const JsonValue names = token.at("tokens");
    names.check(names.elements().size() == 1, "one token");
    *field = names.elements()[0].text();
  }
}

void read_post_processor(const std::optional<JsonValue>& processor, BertTokenizerOptions& o) {
  o.add_cls_and_sep(processor.has_value());
  if (!processor) return;
  const JsonValue type = processor->at("type");
  if (type.text() == "TemplateProcessing") return read_template(*processor, o);
  type.check(type.text() == "BertProcessing", "BertProcessing, TemplateProcessing");
  for (const auto& [key, field] : {std::pair{"cls", &o.cls_token()}, std::pair{"sep", &o.sep_token()}}) {
    const JsonValue token = processor->at(key);
    token.check(token.elements().size() == 2, "a token and its number");
    *field = token.elements()[0].text();
  }
}

void read_normalizer(const std::optional<JsonValue>& normalizer, BertTokenizerOptions& o) {
  o.clean_text(false).tokenize_chinese_chars(false).do_lower_case(false).strip_accents(false);
  if (!normalizer) return;
  check_type(*normalizer, "BertNormalizer");
  o.clean_text(normalizer->at("clean_text").boolean());
  o.tokenize_chinese_chars(normalizer->at("handle_chinese_chars").boolean());
  o.do_lower_case(normalizer->at("lowercase").boolean());
  o.strip_accents({});
  if (const auto strip = normalizer->find("strip_accents")) o.strip_accents(strip->boolean());
}

/// Reads the settings of padding and truncation. In Tandem they are options of encode(), so settings that encode() has
/// not are refused, and only the padding token and the maximum length are kept.
void read_lengths(const JsonValue& file, BertTokenizerOptions& o) {
  if (const auto padding = file.find("padding")) {
    const JsonValue direction = padding->at("direction");
    direction.check(direction.text() == "Right", "Right");
    padding->at("pad_type_id").check(padding->at("pad_type_id").integer() == 0, "0");
    o.pad_token(padding->at("pad_token").text());
  }
  if (const auto truncation = file.find("truncation")) {
    if (const auto direction = truncation->find("direction")) direction->check(direction->text() == "Right", "Right");
    const JsonValue strategy = truncation->at("strategy"), length = truncation->at("max_length");
    strategy.check(strategy.text() == "LongestFirst", "LongestFirst");
    length.check(length.integer() >= 2, "2 or more");
    o.model_max_length(length.integer());
  }
}

/// Checks that added_tokens, padding and post_processor give tokens the numbers that the vocabulary gives them.
void check_numbers(const JsonValue& file, const BertTokenizer& tokenizer, const std::vector<AddedToken>& in_file) {
  const auto check = [&](const std::string& place, const std::string& token, int64_t id) {
    const std::optional<int64_t> is = tokenizer.convert_tokens_to_ids(token);
    TANDEM_CHECK(is == id, file.place(), ": ", place, " gives ", token, " the number ", id,
                 "; accepted: ", is ? std::to_string(*is) : std::string("tokens of the vocabulary"));
  };
  for (const AddedToken& token : in_file) check("added_tokens", token.content, token.id);
  if (const auto padding = file.find("padding"))
    check("padding", padding->at("pad_token").text(), padding->at("pad_id").integer());
  const auto processor = file.find("post_processor");
  if (!processor) return;
  if (processor->find("cls")) {
    for (const char* const key : {"cls", "sep"}) {
      const auto pair = processor->at(key).elements();
      check("post_processor", pair[0].text(), pair[1].integer());
    }
    return;
  }
  for (const auto& [name, value] : processor->at("special_tokens").json().items()) {
    const JsonValue token(value, processor->place() + ".special_tokens." + name);
    const auto names = token.at("tokens").elements(), ids = token.at("ids").elements();
    token.check(names.size() == 1 && ids.size() == 1, "one token with one number");
    check("post_processor", names[0].text(), ids[0].integer());
  }
}

/// Returns the name of a special token in tokenizer_config.json: a string, or an object with the string.
std::optional<std::string> read_token_name(const JsonValue& config, const char* key) {
  const auto value = config.find(key);
  if (!value) return {};
  return value->is_object() ? value->at("content").text() : value->text();
}

}  // namespace

void read_bert_config(const JsonValue& config, BertTokenizerOptions& o) {
  o.do_lower_case(config.boolean_or("do_lower_case", o.do_lower_case()));
  if (const auto strip = config.find("strip_accents")) o.strip_accents(strip->boolean());
  o.tokenize_chinese_chars(config.boolean_or("tokenize_chinese_chars", o.tokenize_chinese_chars()));
  // A tokenizer without a limit has a model_max_length of about 1e30 in its file.
  const auto max_length = config.find("model_max_length");
  if (max_length && max_length->number() < 1e9) {
    max_length->check(max_length->number() >= 2, "2 or more");
    o.model_max_length(static_cast<int64_t>(max_length->number()));
  }
  for (const auto& [key, field] : {std::pair{"unk_token", &o.unk_token()}, std::pair{"sep_token", &o.sep_token()},
                                   std::pair{"pad_token", &o.pad_token()}, std::pair{"cls_token", &o.cls_token()},
                                   std::pair{"mask_token", &o.mask_token()}})
    *field = read_token_name(config, key).value_or(*field);
}

std::shared_ptr<const Tokenizer> read_bert_json(const JsonValue& file, const std::optional<JsonValue>& config) {
  const JsonValue model = file.at("model");
  check_type(model, "WordPiece");
  std::vector<std::string> tokens = read_vocab(model.at("vocab"));
  BertTokenizerOptions o;
  read_lengths(file, o);
  if (config) read_bert_config(*config, o);
  const auto in_vocab = [&](const std::string& token) {
    return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
  };
  // tokenizer.json names no masking token, and a padding token only with the settings of padding.
  if (!in_vocab(o.mask_token())) o.mask_token("");
  if (!file.find("padding") && !in_vocab(o.pad_token())) o.pad_token("");
  o.unk_token(model.at("unk_token").text());
  o.continuing_subword_prefix(model.at("continuing_subword_prefix").text());
  o.max_input_chars_per_word(model.at("max_input_chars_per_word").integer());
  read_normalizer(file.find("normalizer"), o);
  check_type(file.at("pre_tokenizer"), "BertPreTokenizer");
  read_post_processor(file.find("post_processor"), o);
  if (const auto decoder = file.find("decoder")) {
    check_type(*decoder, "WordPiece");
    const JsonValue prefix = decoder->at("prefix");
    prefix.check(prefix.text() == o.continuing_subword_prefix(), "the model's continuing_subword_prefix");
    o.cleanup(decoder->at("cleanup").boolean());
  }
  std::vector<AddedToken> added;
  if (const auto list = file.find("added_tokens")) added = read_added_tokens(*list);
  o.added_tokens(added);
  auto tokenizer = std::make_shared<BertTokenizer>(std::move(tokens), o, file.place());
  check_numbers(file, *tokenizer, added);
  return tokenizer;
}

namespace {

Json make_template(const BertTokenizerOptions& o, const BertTokenizer& tokenizer) {
  const auto special = [](const std::string& name, int type) {
    return Json{{"SpecialToken", {{"id", name}, {"type_id", type}}}};
  };
  const auto text = [](const char* name, int type) { return Json{{"Sequence", {{"id", name}, {"type_id", type}}}}; };
  const std::string &cls = o.cls_token(), &sep = o.sep_token();
  Json tokens = Json::object();
  for (const std::string& name : {cls, sep})
    tokens[name] = {{"id", name}, {"ids", {*tokenizer.convert_tokens_to_ids(name)}}, {"tokens", {name}}};
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({special(cls, 0), text("A", 0), special(sep, 0)})},
          {"pair", Json::array({special(cls, 0), text("A", 0), special(sep, 0), text("B", 1), special(sep, 1)})},
          {"special_tokens", tokens}};
}

Json nullable(const std::optional<bool>& value) { return value ? Json(*value) : Json(nullptr); }

Json make_tokenizer_json(const BertTokenizer& tokenizer, const std::vector<std::string>& vocab) {
  const BertTokenizerOptions& o = tokenizer.options();
  Json added = Json::array(), numbers = Json::object();
  for (const AddedToken& token : tokenizer.added_tokens())
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"single_word", token.single_word},
                     {"lstrip", token.lstrip},
                     {"rstrip", token.rstrip},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  for (size_t i = 0; i < vocab.size(); ++i) numbers[vocab[i]] = i;
  TANDEM_CHECK(numbers.size() == vocab.size(), "save: ", vocab.size() - numbers.size(),
               " tokens occur twice in the vocabulary; tokenizer.json can hold a token once");
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", o.clean_text()},
            {"handle_chinese_chars", o.tokenize_chinese_chars()},
            {"strip_accents", nullable(o.strip_accents())},
            {"lowercase", o.do_lower_case()}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor", o.add_cls_and_sep() ? make_template(o, tokenizer) : Json(nullptr)},
          {"decoder", {{"type", "WordPiece"}, {"prefix", o.continuing_subword_prefix()}, {"cleanup", o.cleanup()}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", o.unk_token()},
            {"continuing_subword_prefix", o.continuing_subword_prefix()},
            {"max_input_chars_per_word", o.max_input_chars_per_word()},
            {"vocab", numbers}}}};
}

Json make_config(const BertTokenizerOptions& o) {
  Json config = {{"tokenizer_class", "BertTokenizer"},
                 {"do_lower_case", o.do_lower_case()},
                 {"strip_accents", nullable(o.strip_accents())},
                 {"tokenize_chinese_chars", o.tokenize_chinese_chars()},
                 {"model_max_length", o.model_max_length()}};
  for (const auto& [key, name] : {std::pair{"unk_token", o.unk_token()}, std::pair{"sep_token", o.sep_token()},
                                  std::pair{"pad_token", o.pad_token()}, std::pair{"cls_token", o.cls_token()},
                                  std::pair{"mask_token", o.mask_token()}})
    if (!name.empty()) config[key] = name;
  return config;
}

void write_file(const std::string& path, const std::string& bytes) {
  FileSink sink("save", path);
  sink.write(bytes.data(), bytes.size());
  sink.commit();
}
std::string to_text(const Json& json, const std::string& path) {
  try {
    return json.dump(2) + "\n";
  } catch (const Json::exception& e) {
    TANDEM_FAIL("save: ", path, " cannot hold the vocabulary, because a token is not UTF-8: ", e.what());
  }
}

}  // namespace
}  // namespace detail

void BertTokenizer::save(const std::string& folder) const {
  std::vector<std::string> vocab(tokens_.begin(), tokens_.begin() + static_cast<int64_t>(model_tokens_));
  for (const AddedToken& token : added_)  // in tokens_, added tokens are normalized
    if (const auto id = static_cast<size_t>(token.id); id < vocab.size()) vocab[id] = token.content;
  const auto path = [&](const char* name) { return (std::filesystem::path(folder) / name).string(); };
  std::string lines;
  for (const std::string& token : vocab) {
    TANDEM_CHECK(token.find_first_of("\r\n") == std::string::npos, "save: ", path("vocab.txt"),
                 " cannot hold the token \"", token, "\", because it contains a line end");
    lines += token + "\n";
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);  // if this fails, the files below say why
  const std::string json = path("tokenizer.json"), config = path("tokenizer_config.json");
  detail::write_file(json, detail::to_text(detail::make_tokenizer_json(*this, vocab), json));
  detail::write_file(config, detail::to_text(detail::make_config(options_), config));
  detail::write_file(path("vocab.txt"), lines);
}

}  // namespace tandem::text
