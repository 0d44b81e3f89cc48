#include "client/local/check_ops.h"

#include <algorithm>
#include <map>

#include "client/local/ops_case.h"
#include "opyard/base/check.h"

namespace opyard::client {
namespace {

const std::set<std::string> kCaseKeys = {"op",      "name",  "source", "args",    "kwargs",
                                         "returns", "error", "code",   "mutates", "after",
                                         "rtol",    "atol",  "repeat"};
constexpr int kMaxRepeat = 1000;

// The operands of one run, by position and by name.
struct Operands {
  std::vector<Value> args;
  std::vector<NamedValue> kwargs;

  // What `mutates` names: a position or a keyword.
  Id id_of(const std::string& name) const {
    const Value* value = nullptr;
    for (const NamedValue& kwarg : kwargs) {
      if (kwarg.name == name) value = &kwarg.value;
    }
    const bool digits = !name.empty() && name.find_first_not_of("0123456789") == name.npos;
    if (!value && digits && name.size() < 4 && std::stoul(name) < args.size()) {
      value = &args[std::stoul(name)];
    }
    if (!value || !value->get_if<Ref>()) fail_case(str_cat("'mutates' names no tensor: ", name));
    return value->get_if<Ref>()->id;
  }
};

class Runner {
 public:
  Runner(Client& yard, std::string device, Report& report)
      : yard_(yard), device_(std::move(device)), report_(report) {}

  void run(const YAML::Node& node) {
    report_.note_unknown(node, kCaseKeys);
    const int repeat = std::clamp(node["repeat"].as<int>(1), 1, kMaxRepeat);
    for (int i = 0; i < repeat; ++i) run_once(node);
  }

 private:
  const OpSchema& schema_of(const std::string& op) {
    const auto found = schemas_.find(op);
    if (found != schemas_.end()) return found->second;
    for (OpSchema& schema : yard_.transport().get_schema(op)) {
      if (schema.name == op) return schemas_.emplace(op, std::move(schema)).first->second;
    }
    fail_case(str_cat(op, " names no overload"));
  }

  void run_once(const YAML::Node& node) {
    const WantedError wanted = wanted_error(node);
    const OpSchema& schema = schema_of(node["op"].as<std::string>());
    CaseInputs inputs(yard_, device_, report_);
    Operands operands;
    operands.args = inputs.build_all(node["args"]);
    if (const YAML::Node kwargs = node["kwargs"]) {
      for (const auto& entry : kwargs) {
        operands.kwargs.push_back({entry.first.as<std::string>(), inputs.build(entry.second)});
      }
    }
    if (wanted) {
      expect_error(wanted, "the call", [&] { yard_.call(schema, operands.args, operands.kwargs); });
    } else {
      compare(node, schema, operands);
    }
    compare_mutated(node, operands);
  }

  static Tolerance tolerance_of(const YAML::Node& node) {
    Tolerance tolerance;
    if (node["rtol"]) tolerance.rtol = node["rtol"].as<double>();
    if (node["atol"]) tolerance.atol = node["atol"].as<double>();
    return tolerance;
  }

  void compare(const YAML::Node& node, const OpSchema& schema, const Operands& operands) {
    const std::vector<Output> outputs = yard_.call(schema, operands.args, operands.kwargs);
    const YAML::Node wanted = node["returns"];
    if (!wanted) {
      if (!node["mutates"]) fail_case("a case has neither returns nor error");
      return;
    }
    if (!wanted.IsSequence() || wanted.size() != outputs.size()) {
      fail_case(str_cat("got ", outputs.size(), " results, wanted ",
                        wanted.IsSequence() ? wanted.size() : 1));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      compare_output(wanted[i], outputs[i], tolerance_of(node), str_cat("result ", i));
    }
  }

  void compare_mutated(const YAML::Node& node, const Operands& operands) {
    const YAML::Node mutates = node["mutates"];
    if (!mutates) return;
    const YAML::Node after = node["after"];
    if (!after || after.size() != mutates.size())
      fail_case("'mutates' and 'after' differ in length");
    for (size_t i = 0; i < mutates.size(); ++i) {
      const std::string name = mutates[i].as<std::string>();
      const Id id = operands.id_of(name);
      compare_tensor(after[i], yard_.get(id), yard_.describe(id), tolerance_of(node),
                     str_cat("argument ", name, " afterwards"));
    }
  }

  Client& yard_;
  const std::string device_;
  Report& report_;
  std::map<std::string, OpSchema> schemas_;
};

}  // namespace

CheckResult check_ops_file(const std::string& path, Client& yard, const std::string& device,
                           std::ostream& out) {
  const YAML::Node cases = load_cases(path);
  Report report(path, out);
  Runner runner(yard, device, report);
  for (const YAML::Node& node : cases) {
    std::string name = str_cat("case ", report.result().passed + report.result().failed);
    if (node.IsMap() && node["op"]) name += " " + node["op"].as<std::string>();
    if (node.IsMap() && node["name"]) name += " " + node["name"].as<std::string>();
    if (node.IsMap() && node["source"]) name += " (" + node["source"].as<std::string>() + ")";
    report.run(name, [&] {
      if (!node.IsMap()) fail_case("a case is a mapping");
      runner.run(node);
    });
  }
  return report.result();
}

}  // namespace opyard::client
