#include "client/local/check_dispatch.h"

#include "client/local/case_orders.h"
#include "opyard/base/check.h"

namespace opyard::client {
namespace {

void run_calls(const DispatchCase& written, bool typed) {
  CaseYard yard(written, typed);
  yard.add_fallbacks();
  yard.define();
  for (size_t i = 0; i < written.kernels.size(); ++i) yard.add(i);
  compare_rows(yard, written.table, written.reason);
  yard.check_invariants();
  for (const CaseCall& call : written.calls) yard.run(call);
  for (const size_t index : written.remove) yard.remove(index);
  compare_rows(yard, written.table_after, {});
  yard.check_invariants();
  for (const CaseCall& call : written.calls_after) yard.run(call);
}

void run_case(const YAML::Node& node, Report& report) {
  const DispatchCase written = read_dispatch_case(node, report);
  if (written.error) return check_refused(written);
  run_calls(written, false);
  const TypedForm* form = written.define ? typed_form(parse_schema(written.op)) : nullptr;
  if (form) {
    run_calls(written, true);
  } else if (written.define && !written.calls.empty()) {
    report.note("operators of some signatures are called boxed only");
  }
  check_orders(written);
}

}  // namespace

CheckResult check_dispatch_file(const std::string& path, std::ostream& out) {
  const YAML::Node cases = load_cases(path);
  Report report(path, out);
  std::set<std::string> names;
  for (const YAML::Node& node : cases) {
    std::string name = str_cat("case ", report.result().passed + report.result().failed);
    if (node.IsMap() && node["name"] && node["name"].IsScalar()) name = node["name"].Scalar();
    report.run(name, [&] {
      if (!node.IsMap()) fail_case("a case is a mapping");
      if (!names.insert(name).second) fail_case("another case of this file has the same name");
      run_case(node, report);
    });
  }
  return report.result();
}

}  // namespace opyard::client
