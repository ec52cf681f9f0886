// Implements the rules. Each rule draws the things that a premise is about, and a hypothesis for each label.
#include "tandem/tools/finetune/sentence_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <random>
#include <set>
#include <utility>

#include "tandem/serialize/file.h"

namespace tandem::tools::finetune {
namespace {

using Words = std::vector<std::string>;
const Words kNames = {"Anna", "Boris", "Clara", "Daniel", "Emma", "Felix", "Greta", "Henry", "Ida", "Jonas"};
const Words kThings = {"apples",  "books",  "coins",  "keys",    "letters",
                       "pencils", "shirts", "stones", "tickets", "spoons"};
// Few numbers, so that a training on a thousand pairs of the rule sees each comparison often.
const Words kNumbers = {"two", "four", "six", "nine", "twelve"};
const Words kObjects = {"ball", "clock", "hat", "lamp", "ring", "rope", "scarf", "ticket", "watch", "whistle"};
const Words kContainers = {"bag",    "basket",  "box",      "cupboard", "drawer",
                           "garage", "kitchen", "suitcase", "tent",     "truck"};
const Words kPeople = {"bakers", "children", "doctors", "drivers",  "farmers",
                       "guests", "players",  "sailors", "students", "teachers"};
const Words kStates = {"asleep", "busy", "cold", "happy", "hungry", "late", "rich", "tall", "tired", "young"};
const Words kOpenings = {"",
                         "",
                         "",
                         "It is raining and ",
                         "As everybody knows , ",
                         "On the first day of the long trip , ",
                         "The old letter on the table says that "};

/// Draws numbers that are equal on all machines; the distributions of the standard library are not.
class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  size_t below(size_t count) { return static_cast<size_t>(random_() % count); }
  const std::string& one_of(const Words& words) { return words[below(words.size())]; }
  const std::string& other_than(const std::string& word, const Words& words) {
    const std::string& other = one_of(words);
    return other == word ? other_than(word, words) : other;
  }

 private:
  std::mt19937_64 random_;
};

constexpr size_t kEntailment = 0, kNeutral = 1, kContradiction = 2;
constexpr std::array<const char*, 3> kLabels = {"entailment", "neutral", "contradiction"};

/// "Anna has five apples." | "Anna has more than three apples."
SentencePair quantities(size_t label, Draw& draw) {
  const std::string &name = draw.one_of(kNames), &thing = draw.one_of(kThings);
  const size_t n = 1 + draw.below(kNumbers.size() - 2);  // not the smallest and not the largest
  const bool more = draw.below(2) == 0;
  // "more than m" is true for m < n, "fewer than m" for m > n.
  const bool is_true = label == kNeutral ? draw.below(2) == 0 : label == kEntailment;
  const size_t m = more == is_true ? draw.below(n) : n + (is_true ? 1 : 0) + draw.below(kNumbers.size() - n - 1);
  // m in [0, n) for true "more" and false "fewer"; [n + 1, end) for true "fewer"; [n, end - 1) for false "more"
  const std::string about = label == kNeutral ? draw.other_than(thing, kThings) : thing;
  return {name + " has " + kNumbers[n] + " " + thing + ".",
          name + " has " + (more ? "more" : "fewer") + " than " + kNumbers[m] + " " + about + ".", kLabels[label],
          "quantities"};
}
/// "The ring is in the box, and the box is in the truck." | "The ring is in the truck."
SentencePair containment(size_t label, Draw& draw) {
  const std::string &object = draw.one_of(kObjects), &inner = draw.one_of(kContainers);
  const std::string& outer = draw.other_than(inner, kContainers);
  const std::string& where = draw.below(3) == 0 ? inner : outer;
  const std::string about = label == kNeutral ? draw.other_than(object, kObjects) : object;
  const bool negated = label == kContradiction || (label == kNeutral && draw.below(2) == 0);
  return {"The " + object + " is in the " + inner + ", and the " + inner + " is in the " + outer + ".",
          "The " + about + " is " + (negated ? "not in" : "in") + " the " + where + ".", kLabels[label], "containment"};
}
/// "All of the bakers are tired." | "Some of the bakers are tired."
SentencePair negation(size_t label, Draw& draw) {
  static constexpr struct {
    const char *premise, *hypothesis;
    size_t label;
  } kForms[] = {{"All", "Some", kEntailment},     {"None", "Some", kContradiction}, {"All", "None", kContradiction},
                {"None", "All", kContradiction},  {"Some", "All", kNeutral},        {"Some", "Most", kNeutral},
                {"Some", "None", kContradiction}, {"Most", "Some", kEntailment},    {"Most", "None", kContradiction},
                {"Most", "All", kNeutral},        {"All", "Most", kEntailment},     {"None", "Most", kContradiction}};
  size_t form = draw.below(std::size(kForms));
  while (kForms[form].label != label) form = draw.below(std::size(kForms));
  const std::string &people = draw.one_of(kPeople), &state = draw.one_of(kStates);
  const auto sentence = [&](const char* quantifier) {
    return std::string(quantifier) + " of the " + people + " are " + state + ".";
  };
  return {sentence(kForms[form].premise), sentence(kForms[form].hypothesis), kLabels[label], "negation"};
}

/// Adds an opening that does not change the meaning, so that the texts have many lengths.
std::string with_opening(std::string premise, Draw& draw) {
  const std::string& opening = draw.one_of(kOpenings);
  const std::string first = premise.substr(0, premise.find(' '));
  const bool is_name = std::find(kNames.begin(), kNames.end(), first) != kNames.end();
  if (!opening.empty() && !is_name) premise[0] = static_cast<char>(std::tolower(premise[0]));
  return opening + premise;
}
std::string quoted(const std::string& text) { return "\"" + text + "\""; }  // no text has characters to escape

}  // namespace

std::vector<SentencePair> make_sentence_pairs(size_t count, uint64_t seed) {
  Draw draw(seed);
  std::vector<SentencePair> pairs;
  std::set<std::string> seen;
  constexpr std::array kRules = {quantities, containment, negation};
  while (pairs.size() < count) {
    SentencePair pair = kRules[draw.below(kRules.size())](draw.below(3), draw);
    pair.premise = with_opening(std::move(pair.premise), draw);
    if (seen.insert(pair.premise + pair.hypothesis).second) pairs.push_back(std::move(pair));
  }
  return pairs;
}

void write_multinli(const std::string& path, const std::vector<SentencePair>& pairs) {
  std::string lines;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const SentencePair& p = pairs[i];
    lines += "{\"gold_label\": " + quoted(p.label) + ", \"genre\": " + quoted(p.rule) +
             ", \"pairID\": " + quoted(std::to_string(i) + p.label[0]) + ", \"sentence1\": " + quoted(p.premise) +
             ", \"sentence2\": " + quoted(p.hypothesis) + "}\n";
  }
  tandem::detail::FileSink file("write_multinli", path);
  file.write(lines.data(), lines.size());
  file.commit();
}

std::vector<std::string> sentence_words() {
  Words all = {"All",  "None", "Some", "Most", "The", "has", "more", "fewer",
               "than", "is",   "in",   "not",  "and", "of",  "are"};
  for (const Words* words : {&kNames, &kThings, &kNumbers, &kObjects, &kContainers, &kPeople, &kStates, &kOpenings})
    all.insert(all.end(), words->begin(), words->end());
  std::set<std::string> sorted = {".", ","};
  for (const std::string& text : all) {
    std::string word;
    for (const char c : text + " ") {
      if (std::isalpha(static_cast<unsigned char>(c)))
        word += static_cast<char>(std::tolower(c));
      else if (!word.empty())
        sorted.insert(std::exchange(word, ""));
    }
  }
  return {sorted.begin(), sorted.end()};
}

}  // namespace tandem::tools::finetune
