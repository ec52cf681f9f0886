// Implements read_pickle by PickleReader, which executes a pickle's opcodes on a stack.
#include "tandem/serialize/pickle_reader.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "tandem/serialize/file.h"
#include "tandem/serialize/pickle_globals.h"

namespace tandem::detail {
namespace {

using Kind = ValueContainer::Kind;

class PickleReader {
 public:
  PickleReader(const std::string& text, TensorSource& tensors) : pickle_(text), tensors_(tensors) {}

  IValue read() {
    for (;;) {
      const uint8_t op = static_cast<uint8_t>(*read_bytes(1));
      if (op == '.') break;
      execute_opcode(op);
    }
    TANDEM_CHECK(stack_.size() == 1 && stack_[0].value(), "the pickle ends with ", stack_.size(),
                 " items on the stack; accepted: one value, so the file is damaged");
    return *stack_[0].value();
  }

 private:
  const char* read_bytes(uint64_t bytes) {
    TANDEM_CHECK(bytes <= pickle_.size() - position_, "the pickle of ", pickle_.size(),
                 " bytes ends within an item that begins at byte ", position_, "; the file is truncated or damaged");
    const char* const out = pickle_.data() + position_;
    position_ += bytes;
    return out;
  }
  uint64_t read_unsigned(int bytes) {
    const char* const from = read_bytes(static_cast<uint64_t>(bytes));
    uint64_t out = 0;
    for (int i = 0; i < bytes; ++i) out |= uint64_t{static_cast<uint8_t>(from[i])} << (8 * i);
    return out;
  }
  double read_double() {
    const char* const from = read_bytes(8);  // big-endian
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | static_cast<uint8_t>(from[i]);
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  std::string read_line() {
    const size_t end = pickle_.find('\n', position_);
    TANDEM_CHECK(end != std::string::npos, "the pickle ends within a name; the file is truncated or damaged");
    std::string out = pickle_.substr(position_, end - position_);
    position_ = end + 1;
    return out;
  }
  std::string read_string(int length_bytes) {
    const uint64_t length = read_unsigned(length_bytes);
    return {read_bytes(length), static_cast<size_t>(length)};
  }
  IValue read_long() {
    const uint64_t bytes = read_unsigned(1);
    return decode_int({read_bytes(bytes), static_cast<size_t>(bytes)});
  }

  void push(StackItem item) { stack_.push_back(std::move(item)); }
  void push(IValue value) { stack_.push_back({std::move(value)}); }
  StackItem& top() {
    TANDEM_CHECK(!stack_.empty() && !std::holds_alternative<PickleMark>(stack_.back().content),
                 "the pickle takes a value from an empty stack; the file is damaged");
    return stack_.back();
  }
  StackItem pop() {
    StackItem out = std::move(top());
    stack_.pop_back();
    return out;
  }
  /// Limits the number of copied elements, because a short pickle may copy the same value many times.
  void check_copy_limit(size_t elements) {
    num_copied_ += elements;
    TANDEM_CHECK(num_copied_ <= pickle_.size(), "the pickle copies more than ", pickle_.size(),
                 " values and characters, as many as it has bytes, which is refused", kAcceptedPickleContents);
  }
  /// Converts an item to a value. A class or function becomes a string, its name; a storage becomes a tensor of all its
  /// elements.
  IValue to_value(StackItem item) {
    if (item.value()) return std::move(std::get<IValue>(item.content));
    if (const auto* const storage = std::get_if<std::shared_ptr<const PickledStorage>>(&item.content)) {
      const PickledStorage& all = **storage;
      return tensors_.make_tensor(all, all.dtype.value_or(kUInt8), 0, {all.numel}, {1});
    }
    if (const auto* const tuple = std::get_if<std::shared_ptr<const Arguments>>(&item.content)) {
      check_copy_limit((*tuple)->size());
      return IValue::tuple(to_values(**tuple));
    }
    const auto* const global = std::get_if<std::shared_ptr<const Global>>(&item.content);
    TANDEM_CHECK(global && (*global)->kind != Global::object, "the pickle uses a class of TorchScript as a value",
                 kAcceptedPickleContents);
    return IValue((*global)->name);
  }
  IValue pop_value() { return to_value(pop()); }
  /// Removes the topmost mark from the stack, and returns the position of the first item after the mark.
  size_t pop_mark() {
    size_t i = stack_.size();
    while (i > 0 && !std::holds_alternative<PickleMark>(stack_[i - 1].content)) --i;
    TANDEM_CHECK(i > 0, "the pickle has no mark on the stack where an opcode needs one; the file is damaged");
    stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    return i - 1;
  }
  std::vector<StackItem> pop_from(size_t first) {
    std::vector<StackItem> out(std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(first)),
                               std::make_move_iterator(stack_.end()));
    stack_.resize(first);
    return out;
  }
  /// Pops the topmost `count` items. Throws if one of them is a mark.
  std::vector<StackItem> pop_items(size_t count) {
    std::vector<StackItem> out(count);
    for (size_t i = count; i-- > 0;) out[i] = pop();
    return out;
  }
  std::vector<IValue> to_values(std::vector<StackItem> items) {
    std::vector<IValue> out;
    out.reserve(items.size());
    for (StackItem& item : items) out.push_back(to_value(std::move(item)));
    return out;
  }

  void push_tuple(std::vector<StackItem> items) {
    if (std::all_of(items.begin(), items.end(), [](const StackItem& item) { return item.value() != nullptr; })) {
      push(IValue::tuple(to_values(std::move(items))));
      return;
    }
    // A tuple of arguments may contain the arguments of another call. Tuples nested more deeply are converted to
    // values.
    for (StackItem& item : items) {
      const auto* const inner = std::get_if<std::shared_ptr<const Arguments>>(&item.content);
      const auto is_nested = [](const StackItem& i) {
        return std::holds_alternative<std::shared_ptr<const Arguments>>(i.content);
      };
      if (inner && std::any_of((*inner)->begin(), (*inner)->end(), is_nested)) item = StackItem{to_value(item)};
    }
    push(StackItem{std::make_shared<const Arguments>(std::move(items))});
  }
  /// Returns the container on top of the stack, to which the caller adds elements. Throws if `accepts` refuses the kind
  /// of the container. Also throws if the container is already an element of another one: only a pickle of a container
  /// that contains itself adds elements that late.
  ValueContainer& mutable_top(const char* kinds, bool (*accepts)(Kind)) {
    const IValue* const value = top().value();
    ValueContainer* const container = value ? ValueContainer::of(*value) : nullptr;
    TANDEM_CHECK(container && accepts(container->kind), "the pickle changes ", value ? value->tagKind() : "a class",
                 " by an opcode for ", kinds, "; the file is damaged");
    TANDEM_CHECK(!container->has_parent, "the pickle changes ", value->tagKind(),
                 " after storing it in another container, so it may contain itself, which is refused");
    return *container;
  }
  void append_to_list(std::vector<IValue> elements) {
    ValueContainer& to = mutable_top("a list", [](Kind kind) { return kind == Kind::list; });
    for (IValue& element : elements) {
      TANDEM_CHECK(ValueContainer::of(element) != &to, "the pickle has a list that contains itself, which is refused");
      to.append(std::move(element));
    }
  }
  void set_dict_items(std::vector<IValue> pairs) {
    TANDEM_CHECK(pairs.size() % 2 == 0, "the pickle gives a dict a key without a value; the file is damaged");
    ValueContainer& to =
        mutable_top("a dict", [](Kind kind) { return kind == Kind::dict || kind == Kind::ordered_dict; });
    for (size_t i = 0; i < pairs.size(); i += 2) {
      TANDEM_CHECK(ValueContainer::of(pairs[i + 1]) != &to,
                   "the pickle has a dict that contains itself, which is refused");
      IValue key = to_dict_key(pairs[i]);
      TANDEM_CHECK(!key.isString() || pairs[i].isString() || !to.find(key),
                   "the pickle has a dict with two keys that are written as '", key.toStringRef(),
                   "' in Tandem; accepted: keys that differ as text");
      to.insert(std::move(key), std::move(pairs[i + 1]));
    }
  }

  void put_memo(uint64_t key) { memo_[key] = top(); }
  void get_memo(uint64_t key) {
    const auto found = memo_.find(key);
    TANDEM_CHECK(found != memo_.end(), "the pickle reads memo ", key, ", which it never set; the file is damaged");
    push(found->second);
  }

  /// Pops the arguments of a call. Throws if there are more than eight, which no accepted function takes.
  Arguments pop_arguments() {
    StackItem item = pop();
    if (const auto* const mixed = std::get_if<std::shared_ptr<const Arguments>>(&item.content)) {
      TANDEM_CHECK((*mixed)->size() <= 8, "the pickle calls a function with ", (*mixed)->size(),
                   " arguments; accepted: up to 8");
      return **mixed;
    }
    const IValue* const value = item.value();
    TANDEM_CHECK(value && value->isTuple() && value->elements().size() <= 8,
                 "the pickle calls a function with arguments that are not a tuple of up to 8 values");
    Arguments out;
    for (const IValue& element : value->elements()) out.push_back({element});
    return out;
  }
  static const Global& as_global(const StackItem& item) {
    const auto* const content = std::get_if<std::shared_ptr<const Global>>(&item.content);
    TANDEM_CHECK(content, "the pickle calls a value that is not a function", kAcceptedPickleContents);
    return **content;
  }
  void push_call(const Global& callee, const Arguments& given) {
    const IValue* const first = given.empty() ? nullptr : given[0].value();
    if (first && first->isString())
      check_copy_limit(first->toStringRef().size());
    else if (first && callee.kind == Global::ordered_dict)
      check_copy_limit(first->isGenericDict() ? first->entries().size() : first->elements().size());
    push(call_global(callee, given, tensors_));
  }
  void pop_and_call() {
    const Arguments given = pop_arguments();
    const StackItem callee = pop();
    push_call(as_global(callee), given);
  }
  /// Creates an object of a class: of one of the accepted Python classes, or of a class in LibTorch's archives, whose
  /// attributes set_object_state() sets later.
  void create_object() {
    const Arguments given = pop_arguments();
    const StackItem type = pop();
    const auto* const content = std::get_if<std::shared_ptr<const Global>>(&type.content);
    if (content && is_newobj_class((*content)->kind)) return push_call(**content, given);
    TANDEM_CHECK(content && (*content)->kind == Global::object, "the pickle makes an object of ",
                 content ? (*content)->name : std::string("a value that is not a class"), ", which is refused",
                 kAcceptedPickleContents);
    TANDEM_CHECK(given.empty(), "the pickle makes an object with arguments", kAcceptedPickleContents);
    push(ValueContainer::make_container(Kind::object));
  }
  void set_object_state() {
    const IValue state = pop_value();
    ValueContainer& to =
        mutable_top("an object", [](Kind kind) { return kind == Kind::object || kind == Kind::ordered_dict; });
    TANDEM_CHECK(state.isGenericDict() && ValueContainer::of(state) != &to, "the pickle builds an object from ",
                 state.tagKind(), "; accepted: a dict");
    ValueContainer::of(state)->has_parent = true;
    // Ignores _metadata of a state dict: the version numbers of Python's modules
    if (to.kind == Kind::ordered_dict) return;
    check_copy_limit(state.entries().size());  // a short pickle may build many objects from one dict
    for (const IValue::Entry& entry : state.entries()) to.insert(entry.key(), entry.value());
  }
  void push_persistent_id() { push(parse_persistent_id(pop_arguments())); }
  void push_stack_global() {
    const IValue name = pop_value(), module = pop_value();
    push(find_global(module.toStringRef(), name.toStringRef()));
  }
  void execute_opcode(uint8_t op);

  const std::string& pickle_;
  TensorSource& tensors_;
  size_t position_ = 0, num_copied_ = 0;
  std::vector<StackItem> stack_;
  std::unordered_map<uint64_t, StackItem> memo_;
};

void PickleReader::execute_opcode(uint8_t op) {
  switch (op) {
    case 0x80: {
      const uint64_t protocol = read_unsigned(1);
      TANDEM_CHECK(2 <= protocol && protocol <= 5, "the pickle is of protocol ", protocol, "; accepted: 2 to 5");
      return;
    }
    case 0x95: read_unsigned(8); return;  // FRAME: the size of a block to read ahead is ignored
    case '(': push(StackItem{PickleMark{}}); return;
    case '0': pop(); return;
    case '1': pop_from(pop_mark()); return;
    case 'N': push(IValue()); return;
    case 0x88: push(IValue(true)); return;
    case 0x89: push(IValue(false)); return;
    case 'J': push(IValue(static_cast<int32_t>(read_unsigned(4)))); return;
    case 'K': push(IValue(read_unsigned(1))); return;
    case 'M': push(IValue(read_unsigned(2))); return;
    case 0x8a: push(read_long()); return;
    case 'G': push(IValue(read_double())); return;
    case 'X':
    case 'T': push(IValue(read_string(4))); return;
    case 0x8c:
    case 'U': push(IValue(read_string(1))); return;
    case 0x8d: push(IValue(read_string(8))); return;
    case ']': push(IValue::list({})); return;
    case ')': push(IValue::tuple({})); return;
    case '}': push(IValue::dict()); return;
    case 'a': {
      std::vector<IValue> element{pop_value()};
      append_to_list(std::move(element));
      return;
    }
    case 'e': append_to_list(to_values(pop_from(pop_mark()))); return;
    case 's': {
      IValue value = pop_value();
      IValue key = pop_value();
      set_dict_items({std::move(key), std::move(value)});
      return;
    }
    case 'u': set_dict_items(to_values(pop_from(pop_mark()))); return;
    case 't': push_tuple(pop_from(pop_mark())); return;
    case 0x85:
    case 0x86:
    case 0x87: push_tuple(pop_items(op - 0x84u)); return;
    case 'q': put_memo(read_unsigned(1)); return;
    case 'r': put_memo(read_unsigned(4)); return;
    case 0x94: put_memo(memo_.size()); return;
    case 'h': get_memo(read_unsigned(1)); return;
    case 'j': get_memo(read_unsigned(4)); return;
    case 'c': {
      const std::string module = read_line(), name = read_line();
      push(find_global(module, name));
      return;
    }
    case 0x93: push_stack_global(); return;
    case 'R': pop_and_call(); return;
    case 0x81: create_object(); return;
    case 'b': set_object_state(); return;
    case 'Q': push_persistent_id(); return;
    case 'B': push(IValue(read_string(4))); return;  // bytes and byte arrays become strings
    case 'C': push(IValue(read_string(1))); return;
    case 0x8e:
    case 0x96: push(IValue(read_string(8))); return;
    case 0x8f: push(IValue::list({})); return;  // a set becomes a list
    case 0x90: append_to_list(to_values(pop_from(pop_mark()))); return;
    case 0x91:
      TANDEM_FAIL("the pickle holds the global 'builtins.frozenset', which is refused", kAcceptedPickleContents);
    default:
      TANDEM_FAIL("the pickle has the opcode ", int{op}, " at byte ", position_ - 1, ", which is refused",
                  kAcceptedPickleContents);
  }
}

}  // namespace

IValue read_pickle(const std::string& text, const std::string& name, TensorSource& tensors) {
  return with_error_context(name, [&] { return PickleReader(text, tensors).read(); });
}

}  // namespace tandem::detail
