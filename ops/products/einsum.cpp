// einsum: converts an equation to labels, and multiplies the operands pair by pair.
#include "tandem/ops/products/einsum.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, einsum);

namespace {

/// Labels name the dimensions of an operand. A label is a letter, or, for a dimension of "...", kEllipsisLabel plus the
/// number of dimensions of "..." to its right.
using Labels = std::vector<int>;
constexpr int kEllipsisLabel = 256;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// Converts the term of one operand, without spaces, to labels; "..." stands for `ellipsis_dims` dimensions.
/// @param name  the operand's name in messages
Labels parse_labels(const std::string& name, const std::string& equation, const std::string& term, int ellipsis_dims) {
  Labels labels;
  bool seen = false;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == '.') {
      TANDEM_CHECK(!seen, "einsum: found '.' for ", name, " for which an ellipsis was already found");
      TANDEM_CHECK(term.compare(i, 3, "...") == 0, "einsum: found '.' for ", name, " that is not part of any ellipsis");
      seen = true;
      i += 2;
      for (int k = ellipsis_dims; k-- > 0;) labels.push_back(kEllipsisLabel + k);
    } else {
      TANDEM_CHECK((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), "einsum: invalid subscript given at index ",
                   name == "output" ? equation.rfind(c) : equation.find(c),
                   " in the equation string, subscripts must be in [a-zA-Z], but it is '", c, "'");
      labels.push_back(c);
    }
  }
  return labels;
}
struct LabeledTensor {
  Tensor x;
  Labels labels;  // one label for each dimension of x
};
/// Replaces the dimensions of a repeated label by their diagonal, so that x has one dimension for each label.
LabeledTensor take_diagonals(size_t operand, Tensor x, Labels labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto again = std::find(labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, labels.end(), labels[i]);
    if (again == labels.end()) continue;
    const auto j = again - labels.begin();
    TANDEM_CHECK(x.size(static_cast<int64_t>(i)) == x.size(j), "einsum: subscript ", static_cast<char>(labels[i]),
                 " is repeated for operand ", operand, " but the sizes don't match, ", x.size(j),
                 " != ", x.size(static_cast<int64_t>(i)));
    x = x.diagonal(0, static_cast<int64_t>(i), j).movedim(-1, static_cast<int64_t>(i));
    labels.erase(again);
    --i;
  }
  return {x, labels};
}
LabeledTensor sum_labels(LabeledTensor t, const Labels& kept) {
  Shape dims;
  Labels left;
  for (size_t i = 0; i < t.labels.size(); ++i) {
    if (contains(kept, t.labels[i]))
      left.push_back(t.labels[i]);
    else
      dims.push_back(static_cast<int64_t>(i));
  }
  return dims.empty() ? t : LabeledTensor{t.x.sum(dims), left};
}
Tensor permute_to_labels(const LabeledTensor& t, const Labels& order) {
  Shape dims;
  for (const int label : order) dims.push_back(std::find(t.labels.begin(), t.labels.end(), label) - t.labels.begin());
  return t.x.permute(dims);
}
/// Broadcasts a label that has size 1 in only one of a and b. If the label is kept, expands the tensor in which its
/// size is 1; otherwise sums the other tensor over the label.
void broadcast_labels(LabeledTensor& a, LabeledTensor& b, const Labels& kept) {
  for (size_t i = 0; i < a.labels.size(); ++i) {
    const auto found = std::find(b.labels.begin(), b.labels.end(), a.labels[i]);
    if (found == b.labels.end()) continue;
    const auto d = static_cast<int64_t>(i), e = static_cast<int64_t>(found - b.labels.begin());
    const int64_t m = a.x.size(d), n = b.x.size(e);
    if (m == n) continue;
    if (!contains(kept, a.labels[i])) {
      if (m == 1)
        b.x = b.x.sum(e, true);
      else
        a.x = a.x.sum(d, true);
    } else if (m == 1) {
      Shape sizes = a.x.sizes();
      sizes[i] = n;
      a.x = a.x.expand(sizes);
    } else {
      Shape sizes = b.x.sizes();
      sizes[static_cast<size_t>(e)] = m;
      b.x = b.x.expand(sizes);
    }
  }
}
/// Returns the product of two labeled tensors, summed over the labels that both have and that are not in `kept`.
LabeledTensor contract(LabeledTensor a, LabeledTensor b, const Labels& kept) {
  broadcast_labels(a, b, kept);
  Labels batch, only_a, only_b, inner;
  Shape sizes;
  int64_t counts[4] = {1, 1, 1, 1};  // products of the sizes of all labels in batch, only_a, inner and only_b
  const auto sort_out = [&](const LabeledTensor& t, const LabeledTensor& other, Labels& only, int64_t& count) {
    for (size_t i = 0; i < t.labels.size(); ++i) {
      if (contains(other.labels, t.labels[i])) continue;
      only.push_back(t.labels[i]);
      count *= t.x.size(static_cast<int64_t>(i));
    }
  };
  for (size_t i = 0; i < a.labels.size(); ++i) {
    if (!contains(b.labels, a.labels[i])) continue;
    const bool stays = contains(kept, a.labels[i]);
    (stays ? batch : inner).push_back(a.labels[i]);
    counts[stays ? 0 : 2] *= a.x.size(static_cast<int64_t>(i));
    if (stays) sizes.push_back(a.x.size(static_cast<int64_t>(i)));
  }
  sort_out(a, b, only_a, counts[1]);
  sort_out(b, a, only_b, counts[3]);
  const auto joined = [](std::initializer_list<const Labels*> parts) {
    Labels all;
    for (const Labels* p : parts) all.insert(all.end(), p->begin(), p->end());
    return all;
  };
  for (const auto& [t, only] : {std::pair(&a, &only_a), std::pair(&b, &only_b)})
    for (const int label : *only)
      sizes.push_back(t->x.size(std::find(t->labels.begin(), t->labels.end(), label) - t->labels.begin()));
  const Tensor left =
      permute_to_labels(a, joined({&batch, &only_a, &inner})).reshape({counts[0], counts[1], counts[2]});
  const Tensor right =
      permute_to_labels(b, joined({&batch, &inner, &only_b})).reshape({counts[0], counts[2], counts[3]});
  return {reshape_result(left.bmm(right), sizes), joined({&batch, &only_a, &only_b})};
}

/// Multiplies all terms, and sums over the labels that are not in `wanted`.
LabeledTensor contract_all(std::vector<LabeledTensor> terms, const OptionalDims& path, const Labels& wanted) {
  const size_t steps = terms.size() - 1;
  const size_t length = steps == 0 ? 1 : 2 * steps;
  TANDEM_CHECK(!path.has_value || path.dims.size() == length,
               "einsum: expected contraction path given in path parameter to have size ", length, " but got ",
               path.dims.size());
  for (size_t step = 0; step < steps; ++step) {
    const int64_t i = path.has_value ? path.dims[2 * step] : 0, j = path.has_value ? path.dims[2 * step + 1] : 1,
                  count = static_cast<int64_t>(terms.size());
    TANDEM_CHECK(i >= 0 && j >= 0 && i < count && j < count, "einsum: invalid contraction (", i, ", ", j,
                 ") operand index is out of bounds; there are ", count, " operands");
    TANDEM_CHECK(i != j, "einsum: invalid contraction (", i, ", ", j, ") cannot contract an operand with itself");
    const LabeledTensor a = terms[static_cast<size_t>(i)], b = terms[static_cast<size_t>(j)];
    terms.erase(terms.begin() + std::max(i, j));
    terms.erase(terms.begin() + std::min(i, j));
    Labels kept = wanted;  // labels that the result or another operand still needs
    for (const LabeledTensor& t : terms) kept.insert(kept.end(), t.labels.begin(), t.labels.end());
    const auto summed = [&](const LabeledTensor& t, const LabeledTensor& other) {
      Labels needed = kept;
      needed.insert(needed.end(), other.labels.begin(), other.labels.end());
      return sum_labels(t, needed);
    };
    LabeledTensor product = sum_labels(contract(summed(a, b), summed(b, a), kept), kept);
    terms.insert(path.has_value ? terms.end() : terms.begin(), std::move(product));
  }
  return sum_labels(terms[0], wanted);
}
}  // namespace

Tensor einsum(const std::string& equation, TensorList operands, const OptionalDims& path) {
  if (const Autocast cast{cast_policy::einsum, operands}) return einsum(equation, cast(operands), path);
  TANDEM_CHECK(!operands.empty(), "einsum: must provide at least one operand");
  std::string text;
  for (const char c : equation)
    if (c != ' ') text += c;
  const size_t arrow = text.find("->");
  std::vector<std::string> parts(1);
  for (const char c : text.substr(0, arrow)) c == ',' ? parts.emplace_back() : parts.back() += c;
  TANDEM_CHECK(parts.size() == operands.size(), "einsum: ", parts.size() > operands.size() ? "fewer" : "more",
               " operands were provided than specified in the equation: got ", operands.size(), " for \"", equation,
               "\"");
  int ellipsis_dims = 0;  // largest number of dimensions that "..." stands for
  std::vector<LabeledTensor> terms;
  std::map<int, int64_t> size_of_label;
  std::map<int, int> count;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor& x = operands[i];
    check_product_operands("einsum", operands[0], x);
    const int named =
        static_cast<int>(std::count_if(parts[i].begin(), parts[i].end(), [](char c) { return c != '.'; }));
    const int rest = static_cast<int>(x.dim()) - named;
    const bool open = parts[i].find('.') != std::string::npos;
    TANDEM_CHECK(open || rest == 0, "einsum: the number of subscripts in the equation (", named,
                 ") does not match the number of dimensions (", x.dim(), ") for operand ", i,
                 " and no ellipsis was given");
    TANDEM_CHECK(rest >= 0, "einsum: the number of subscripts in the equation (", named,
                 ") is more than the number of dimensions (", x.dim(), ") for operand ", i);
    if (open) ellipsis_dims = std::max(ellipsis_dims, rest);
    const Labels labels = parse_labels("operand " + std::to_string(i), equation, parts[i], rest);
    terms.push_back(take_diagonals(i, x, labels));
    for (const int label : labels) ++count[label];
    for (size_t d = 0; d < terms[i].labels.size(); ++d) {
      int64_t& size = size_of_label.try_emplace(terms[i].labels[d], 1).first->second;
      const int64_t own = terms[i].x.size(static_cast<int64_t>(d));
      TANDEM_CHECK(own == size || own == 1 || size == 1, "einsum: ",
                   terms[i].labels[d] < kEllipsisLabel
                       ? std::string("subscript ") + static_cast<char>(terms[i].labels[d])
                       : std::string("a dimension of the ellipsis"),
                   " has size ", own, " for operand ", i, " which does not broadcast with previously seen size ", size);
      if (own != 1) size = own;
    }
  }
  Labels wanted;
  if (arrow != std::string::npos) {
    wanted = parse_labels("output", equation, text.substr(arrow + 2), ellipsis_dims);
  } else {
    for (int k = ellipsis_dims; k-- > 0;) wanted.push_back(kEllipsisLabel + k);
    for (const auto& [label, times] : count)
      if (label < kEllipsisLabel && times == 1) wanted.push_back(label);
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string label = wanted[i] < kEllipsisLabel ? std::string(1, static_cast<char>(wanted[i])) : "...";
    TANDEM_CHECK(size_of_label.count(wanted[i]), "einsum: output subscript ", label,
                 " does not appear in the equation for any input operand");
    TANDEM_CHECK(std::find(wanted.begin(), wanted.end(), wanted[i]) == wanted.begin() + static_cast<std::ptrdiff_t>(i),
                 "einsum: output subscript ", label, " appears more than once in the output");
  }
  const LabeledTensor result = contract_all(std::move(terms), path, wanted);
  if (result.labels == wanted) return result.x;
  // returned without a copy if there is only one operand, so that the result is a view, as in PyTorch
  const Tensor y = permute_to_labels(result, wanted);
  return operands.size() == 1 ? y : y.clone(MemoryFormat::Contiguous);
}

}  // namespace tandem
