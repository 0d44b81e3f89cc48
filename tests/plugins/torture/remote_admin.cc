#include "tests/plugins/torture/remote_admin.h"

#include <filesystem>
#include <fstream>

#include "opyard/base/check.h"

namespace opyard::torture {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
constexpr size_t kFilesKept = 8;  // more than a slot has generations

class Stamped : public RemoteFiles {
 public:
  Stamped(const std::string& file, const std::string& folder)
      : builds_(file, folder, "libopyard_plugin_stamped") {}
  File make(torture_fault fault) override {
    const Builds::Build build = builds_.make(fault, 5);
    fs::permissions(build.file, fs::perms(0644));
    return {str_cat("stamped", build.number), build.file, build.number};
  }

 private:
  Builds builds_;
};

class Copied : public RemoteFiles {
 public:
  Copied(std::string file, std::string folder)
      : file_(std::move(file)), folder_(std::move(folder)) {}
  File make(torture_fault) override {
    const uint64_t number = ++last_;
    const std::string name = str_cat("copy", number);
    const std::string path = str_cat(folder_, "/libopyard_plugin_", name, ".so");
    fs::copy_file(file_, path);
    std::ofstream(path, std::ios::app) << "build " << number;
    fs::permissions(path, fs::perms(0644));
    return {name, path, number};
  }

 private:
  const std::string file_;
  const std::string folder_;
  uint64_t last_ = 0;
};

}  // namespace

std::unique_ptr<RemoteFiles> stamped_files(const std::string& file, const std::string& folder) {
  return std::make_unique<Stamped>(file, folder);
}
std::unique_ptr<RemoteFiles> copied_files(const std::string& file, const std::string& folder) {
  return std::make_unique<Copied>(file, folder);
}

RemoteAdmin::RemoteAdmin(RemoteState& state, const std::string& address, std::string slot,
                         History* history, RemoteFiles& files, uint64_t seed)
    : state_(state),
      admin_(client::make_grpc_admin(address, milliseconds(60'000))),
      slot_(std::move(slot)),
      history_(history),
      files_(files),
      random_(seed) {}

client::PluginList RemoteAdmin::list() { return admin_->list("", false); }

void RemoteAdmin::keep(const RemoteFiles::File& file) {
  kept_.push_back(file);
  if (kept_.size() <= kFilesKept) return;
  fs::remove(kept_.front().path);
  kept_.erase(kept_.begin());
}

client::PluginChange RemoteAdmin::carry_out(const std::string& what, torture_fault fault) {
  client::PluginChangeOptions options;
  options.probe = random_() % 20 == 0;
  options.keep_warm = milliseconds(random_() % 2 ? 0 : random_() % 200);
  if (what == "unload") return admin_->unload(slot_, options);
  if (what == "rollback") return admin_->rollback(slot_, options);
  const RemoteFiles::File file = files_.make(fault);
  keep(file);
  tried_ = file.build;
  return what == "load" ? admin_->load(file.name, options)
                        : admin_->swap(slot_, file.name, options);
}

void RemoteAdmin::change(const char* what, torture_fault fault,
                         std::initializer_list<Code> expected) {
  tried_ = 0;
  if (history_) history_->begin_change();
  try {
    const client::PluginChange done = carry_out(what, fault);
    ++changes_;
    if (std::string_view(what) == "rollback") {
      active_ = build_of_[done.new_generation];
    } else {
      active_ = tried_;
      if (tried_) build_of_[done.new_generation] = tried_;
    }
    if (history_) history_->end_change(active_);
    if (fault == TORTURE_INIT_FAILS) {
      state_.failures.add(slot_ + ": a build that fails to start was taken");
    }
  } catch (const Error& error) {
    if (history_) history_->end_change(active_);
    for (const Code code : expected) {
      if (error.code() == code) return;
    }
    state_.failures.add(str_cat(slot_, ": a ", what, " was refused: ", error.what()));
  }
}

void RemoteAdmin::load() { change("load", TORTURE_SOUND, {}); }
void RemoteAdmin::unload() { change("unload", TORTURE_SOUND, {}); }

void RemoteAdmin::step(bool may_unload) {
  const bool alone = history_ != nullptr || !may_unload;
  const uint64_t dice = random_() % 100;
  if (!alone) {  // another administrator may have been faster
    const char* what = dice < 50 ? "swap" : dice < 70 ? "rollback" : dice < 85 ? "load" : "unload";
    return change(what, dice % 10 ? TORTURE_SOUND : TORTURE_SLOW_END,
                  {Code::kAborted, Code::kNotFound, Code::kAlreadyExists, Code::kFailedPrecondition,
                   Code::kResourceExhausted});
  }
  if (history_ && active_ == 0) return change("load", TORTURE_SOUND, {Code::kResourceExhausted});
  if (dice < 65) {
    return change("swap", dice < 10 ? TORTURE_THREAD : TORTURE_SOUND, {Code::kResourceExhausted});
  }
  if (dice < 85) return change("rollback", TORTURE_SOUND, {Code::kFailedPrecondition});
  if (may_unload && dice < 92) return change("unload", TORTURE_SOUND, {});
  if (history_) {
    change("swap", TORTURE_INIT_FAILS,
           {Code::kUnavailable, Code::kFailedPrecondition, Code::kResourceExhausted});
  }
}

void RemoteAdmin::storm(const std::atomic<bool>& stop) {
  while (!stop) {
    try {
      static_cast<void>(carry_out(random_() % 3 ? "swap" : "rollback", TORTURE_SOUND));
      ++changes_;
    } catch (const Error&) {  // whatever the daemon says while it leaves
      if (state_.may_leave) return;
    }
  }
}

}  // namespace opyard::torture
