#include "client/local/case_yard.h"

#include <algorithm>

#include "opyard/base/check.h"
#include "opyard/core/local_keys.h"

namespace opyard::client {
namespace {

Tensor tensor_with(KeySet keys) {
  Tensor tensor = make_tensor({1}, ScalarType::kFloat32);
  tensor.unsafe_impl()->set_key_set(keys);
  return tensor;
}

IValue tensor_value(const CaseTensor& tensor, const SchemaType& type) {
  if (tensor.absent) return IValue();
  if (!type.is_list) {
    if (tensor.is_list) fail_case("a list of key lists stands where one tensor is wanted");
    return tensor_with(tensor.keys);
  }
  if (type.element_optional) {
    std::vector<IValue> list;
    for (const CaseTensor& each : tensor.list) {
      list.push_back(each.absent ? IValue() : IValue(tensor_with(each.keys)));
    }
    return IValue::list(list);
  }
  std::vector<Tensor> list;
  for (const CaseTensor& each : tensor.list) list.push_back(tensor_with(each.keys));
  return list;
}

// What a parameter gets that brings no keys and has no default.
IValue filler(const SchemaType& type) {
  if (type.is_optional()) return IValue();
  if (type.is_list) return IValue(ArrayRef<int64_t>());
  switch (type.base) {
    case BaseType::kFloat:
    case BaseType::kSymFloat:
      return 0.0;
    case BaseType::kBool:
    case BaseType::kSymBool:
      return false;
    case BaseType::kString:
      return "";
    case BaseType::kScalarType:
      return ScalarType::kFloat32;
    case BaseType::kDevice:
      return Device(Backend::kCPU);
    case BaseType::kLayout:
      return Layout::kStrided;
    case BaseType::kMemoryFormat:
      return MemoryFormat::kContiguous;
    case BaseType::kGenerator:
      return IntrusivePtr<Generator>::adopt(new Generator);
    default:
      return int64_t{0};
  }
}

std::string joined(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += (text.empty() ? "" : ", ") + label;
  return "[" + text + "]";
}

// A row in the words of the cases.
std::string row_value(const TableRow& row) {
  switch (row.kind) {
    case KernelKind::kFallthrough:
      return "<fallthrough>";
    case KernelKind::kMissing:
    case KernelKind::kGone:
      return "<missing>";
    case KernelKind::kAmbiguous:
      return "<ambiguous>";
    default:
      return row.is_fallback && row.built_in ? "<fallback>" : row.kernel;
  }
}

// The thread state of one call.
class CallState {
 public:
  explicit CallState(const CaseCall& call)
      : base_(kDefaultIncluded, kDefaultExcluded - call.unexclude),
        include_(call.include),
        exclude_(call.exclude) {}

 private:
  ForceKeysGuard base_;
  IncludeKeysGuard include_;
  ExcludeKeysGuard exclude_;
};

}  // namespace

CaseYard::CaseYard(const DispatchCase& written, bool typed)
    : case_(written), typed_(typed), dispatcher_(written.defaults) {
  name_ = written.op.substr(0, written.op.find('('));
  while (name_.ends_with(' ')) name_.pop_back();
  name_space_ = name_.substr(0, std::min(name_.find("::"), name_.size()));
  if (written.define) {
    // A case may be about a schema that is refused.
    try {
      form_ = typed_form(parse_schema(written.op));
    } catch (const Error&) {
    }
  }
  registrations_.resize(written.kernels.size());
}

void CaseYard::define() {
  if (!case_.define) return;
  definition_ = dispatcher_.register_block(BlockKind::kDef, name_space_, "",
                                           [&](Library& block) { block.def(case_.op); });
}

void CaseYard::add_fallbacks() {
  for (const CaseKernel& fallback : case_.fallbacks) {
    fallbacks_.push_back(dispatcher_.register_block(
        BlockKind::kImpl, "_", fallback.key,
        [&](Library& block) { kernels_.add(block, "", fallback, nullptr); }));
  }
}

void CaseYard::add(size_t index) {
  const CaseKernel& kernel = case_.kernels[index];
  registrations_[index] = dispatcher_.register_block(
      BlockKind::kImpl, name_space_, kernel.key,
      [&](Library& block) { kernels_.add(block, name_, kernel, typed_ ? form_ : nullptr); });
}

std::string CaseYard::stored_table() const {
  const auto op = dispatcher_.find_op(name_);
  std::string text;
  if (!op) return text;
  for (const TableRow& row : dispatcher_.table(*op)) {
    text += to_string(row.key) + "\t" + row_value(row) + "\t" + row.reason + "\n";
  }
  return text;
}

uint64_t CaseYard::table_hash() const {
  const auto op = dispatcher_.find_op(name_);
  uint64_t hash = 0;
  if (!op) return hash;
  const std::hash<std::string> hash_of;
  for (const TableRow& row : dispatcher_.table(*op)) {
    for (const std::string& part : {row_value(row), row.reason}) {
      hash = (hash ^ hash_of(part)) * 0x9e3779b97f4a7c15 + 1;
    }
  }
  return hash;
}

std::string CaseYard::state() const { return dispatcher_.dump_state(name_) + stored_table(); }

std::map<std::string, TableRow> CaseYard::rows() const {
  std::map<std::string, TableRow> rows;
  const auto op = dispatcher_.find_op(name_);
  if (!op) return rows;
  for (TableRow& row : dispatcher_.table(*op)) {
    std::string key = to_string(row.key);
    rows.emplace(std::move(key), std::move(row));
  }
  return rows;
}

Stack CaseYard::arguments_of(const CaseCall& call, const FunctionSchema& schema) const {
  Stack stack;
  size_t next = 0;
  for (const Argument& argument : schema.arguments) {
    if (argument.type.is_tensor_like()) {
      if (next == call.tensors.size()) fail_case("there are fewer key lists than Tensor arguments");
      stack.push_back(tensor_value(call.tensors[next++], argument.type));
    } else {
      stack.push_back(argument.default_value ? *argument.default_value : filler(argument.type));
    }
  }
  if (next != call.tensors.size()) fail_case("there are more key lists than Tensor arguments");
  return stack;
}

void CaseYard::run_via(const CaseCall& call, OperatorHandle op, bool typed,
                       const std::string& how) {
  const bool redispatch = call.via == Via::kRedispatch;
  Stack stack = arguments_of(call, op.schema());
  const auto body = [&] {
    const CallState state(call);
    const LabelScope scope(kernels_);
    kernels_.take_trail();
    if (typed) {
      redispatch ? form_->redispatch(dispatcher_, op, call.keys, stack)
                 : form_->call(dispatcher_, op, stack);
    } else {
      redispatch ? dispatcher_.redispatch_boxed(op, call.keys, stack)
                 : dispatcher_.call_boxed(op, stack);
    }
  };
  const std::string what = call.text + " " + how;
  if (call.error) {
    expect_error(call.error, what, body);
  } else {
    try {
      body();
    } catch (const Error& error) {
      fail_case(str_cat(what, " failed with ", code_name(error.code()), ": ", error.message()));
    }
  }
  const std::vector<std::string> trail = kernels_.take_trail();
  if (call.trail && trail != *call.trail) {
    fail_case(str_cat(what, " ran ", joined(trail), ", wanted ", joined(*call.trail)));
  }
}

void CaseYard::run(const CaseCall& call) {
  if (!dispatcher_.find(name_)) {
    const auto look_up = [&] { dispatcher_.get(name_); };
    return call.error ? expect_error(call.error, call.text, look_up) : look_up();
  }
  const OperatorHandle op = dispatcher_.get(name_);
  const std::string form = typed_ ? " with typed kernels" : "";
  if (call.via != Via::kUnboxed || !form_) run_via(call, op, false, "boxed" + form);
  if (call.via != Via::kBoxed && form_) run_via(call, op, true, "unboxed" + form);
}

void compare_rows(const CaseYard& yard, const std::vector<CaseRow>& table,
                  const std::vector<CaseRow>& reasons) {
  const std::map<std::string, TableRow> rows = yard.rows();
  const auto row_of = [&](const std::string& key) -> const TableRow& {
    const auto found = rows.find(to_string(parse_dispatch_key(key)));
    if (found == rows.end()) fail_case(str_cat("the table has no slot for ", key));
    return found->second;
  };
  for (const CaseRow& wanted : table) {
    const std::string got = row_value(row_of(wanted.key));
    if (got != wanted.value) {
      fail_case(str_cat("table: ", wanted.key, " holds ", got, ", wanted ", wanted.value));
    }
  }
  for (const CaseRow& wanted : reasons) {
    const std::string& got = row_of(wanted.key).reason;
    if (got != wanted.value) {
      fail_case(str_cat("reason: ", wanted.key, " holds its kernel as '", got, "', wanted '",
                        wanted.value, "'"));
    }
  }
}

}  // namespace opyard::client
