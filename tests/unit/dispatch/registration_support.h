#pragma once

#include <mutex>
#include <utility>

#include "opyard/base/log.h"
#include "support.h"

namespace opyard::testing {

// Keeps what the library logs while it lives. One at a time.
class CapturedLog {
 public:
  CapturedLog() {
    set_log_sink([](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex());
      lines().emplace_back(line);
    });
    take();
  }
  ~CapturedLog() { set_log_sink(nullptr); }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex());
    return std::exchange(lines(), {});
  }

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static std::vector<std::string>& lines() {
    static std::vector<std::string> instance;
    return instance;
  }
};

// A boxed kernel that answers with the int that its `self` points to.
inline void answer(const Kernel& kernel, Keys, const IValue*, uint32_t, IValue* out, uint32_t) {
  out[0] = IValue(*static_cast<const int64_t*>(kernel.self));
}
inline BoxedKernel answers(const int64_t& number) {
  return BoxedKernel{&answer, const_cast<int64_t*>(&number)};
}

struct RegistrationFixture : ::testing::Test {
  Registration block(BlockKind kind, std::string_view ns, std::string_view key,
                     const std::function<void(Library&)>& fill, const Origin& origin = {}) {
    return dispatcher.register_libraries(library(kind, ns, key, fill), origin);
  }
  static std::vector<Library> library(BlockKind kind, std::string_view ns, std::string_view key,
                                      const std::function<void(Library&)>& fill) {
    std::vector<Library> libraries;
    fill(libraries.emplace_back(kind, ns, key));
    return libraries;
  }
  // What a call with these argument keys gives.
  int64_t call(std::string_view op, KeySet keys = KeySet(DispatchKey::CPU)) {
    Tensor x = one();
    x.unsafe_impl()->set_key_set(keys);
    const IValue in(x);
    IValue out;
    dispatcher.call_boxed(dispatcher.get(op), &in, 1, &out, 1);
    return out.to_int();
  }
  // Labels of the kernels at a key, newest first.
  std::vector<std::string> stack(std::string_view op, std::string_view key) {
    std::vector<std::string> labels;
    const std::string state = dispatcher.dump_state(op);
    for (size_t at = 0; at < state.size();) {
      const std::string line = state.substr(at, state.find('\n', at) - at);
      at += line.size() + 1;
      if (!line.starts_with(std::string(key) + ":") && !line.starts_with(std::string(key) + " ") &&
          !line.starts_with(std::string(key) + "["))
        continue;
      const size_t colon = line.find(": ");
      labels.push_back(line.substr(colon + 2, line.find(" :: ") - colon - 2));
    }
    return labels;
  }
  Dispatcher dispatcher;
};

}  // namespace opyard::testing
