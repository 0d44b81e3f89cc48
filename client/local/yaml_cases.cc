#include "client/local/yaml_cases.h"

#include <yaml-cpp/eventhandler.h>

#include <fstream>
#include <ostream>
#include <regex>
#include <sstream>

#include "opyard/base/check.h"

namespace opyard::client {
namespace {

constexpr std::streamoff kMaxFile = 16 << 20;
constexpr int kMaxDepth = 64;
constexpr size_t kMaxPattern = 1000;

// Goes over a document without building it.
class Guard final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark, 1); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string&) override {
    refuse_anchor(mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    enter(mark, anchor);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    enter(mark, anchor);
  }
  void OnMapEnd() override { --depth_; }

 private:
  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    OPYARD_CHECK(anchor == 0, kInvalidArgument, "line ", mark.line + 1,
                 ": anchors and aliases are not taken; write the value out");
  }
  void enter(const YAML::Mark& mark, YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    OPYARD_CHECK(++depth_ <= kMaxDepth, kInvalidArgument, "line ", mark.line + 1,
                 ": nested deeper than ", kMaxDepth, " levels");
  }
  int depth_ = 0;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  OPYARD_CHECK(file.is_open(), kNotFound, "cannot open ", path);
  const std::streamoff size = file.tellg();
  OPYARD_CHECK(size >= 0 && size <= kMaxFile, kInvalidArgument, path, ": the file has ", size,
               " bytes; at most ", kMaxFile, " are taken");
  std::string text(static_cast<size_t>(size), '\0');
  file.seekg(0);
  file.read(text.data(), size);
  OPYARD_CHECK(file.good() || size == 0, kDataLoss, "cannot read all of ", path);
  return text;
}

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  if (line.size() < text.size()) line += " …";
  return line;
}

}  // namespace

YAML::Node load_cases(const std::string& path) {
  try {
    const std::string text = read_file(path);
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    Guard guard;
    parser.HandleNextDocument(guard);
    YAML::Node cases = YAML::Load(text)["cases"];
    OPYARD_CHECK(cases && cases.IsSequence(), kInvalidArgument, "wanted a list under 'cases:'");
    return cases;
  } catch (const YAML::Exception& error) {
    raise(Code::kInvalidArgument, str_cat(path, ": ", error.what()));
  } catch (Error& error) {
    if (error.message().find(path) == std::string::npos) error.prefix(path);
    throw;
  }
}

void fail_case(std::string message) { throw CaseFailure{std::move(message)}; }

void Report::run(const std::string& name, const std::function<void()>& body) {
  std::string problem;
  try {
    body();
    ++result_.passed;
    return;
  } catch (const CaseFailure& failure) {
    problem = failure.message;
  } catch (const Error& error) {
    problem = str_cat(code_name(error.code()), ": ", error.message());
  } catch (const std::exception& error) {
    problem = error.what();
  }
  ++result_.failed;
  out_ << "FAILED " << file_ << " " << name << ": " << first_line(problem) << "\n";
}

void Report::note(const std::string& text) {
  if (noted_.insert(text).second) out_ << "note: " << file_ << ": " << text << "\n";
}

void Report::note_unknown(const YAML::Node& mapping, const std::set<std::string>& known) {
  for (const auto& entry : mapping) {
    const std::string key = entry.first.as<std::string>();
    if (!known.contains(key)) note(str_cat("the key '", key, "' is not known and was ignored"));
  }
}

WantedError wanted_error(const YAML::Node& node) {
  WantedError wanted;
  if (node["error"]) wanted.pattern = node["error"].as<std::string>();
  if (node["code"]) wanted.code = node["code"].as<std::string>();
  Code code{};
  if (!wanted.code.empty() && !parse_code(wanted.code, &code)) {
    fail_case(str_cat("'", wanted.code, "' is no canonical code"));
  }
  if (wanted.pattern.size() > kMaxPattern) fail_case("the pattern of the error is too long");
  return wanted;
}

void expect_error(const WantedError& wanted, const std::string& what,
                  const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    const std::string got =
        str_cat(what, " failed with ", code_name(error.code()), ": ", first_line(error.message()));
    if (!wanted.code.empty() && wanted.code != code_name(error.code())) {
      fail_case(str_cat("wanted the code ", wanted.code, "; ", got));
    }
    if (!wanted.pattern.empty() &&
        !std::regex_search(error.message(), std::regex(wanted.pattern))) {
      fail_case(str_cat("wanted an error that matches /", wanted.pattern, "/; ", got));
    }
    return;
  }
  fail_case(str_cat(what, " succeeded; wanted an error",
                    wanted.pattern.empty() ? "" : " that matches /", wanted.pattern,
                    wanted.pattern.empty() ? "" : "/"));
}

}  // namespace opyard::client
