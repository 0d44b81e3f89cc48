#include "trial.h"

#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/control_thread.h"
#include "opyard/plugin/handshake.h"
#include "opyard/plugin/host_table.h"
#include "report.h"

namespace opyard::worker {
namespace {

using plugin::ControlThread;

class Trial {
 public:
  Trial(const std::string& path, const Weakness& weakness)
      : file_(store().store(path, next_number())),
        lint_(plugin::lint(file_)),
        host_(lint_.note.name, leases_) {
    // The table is the host's own; nobody else looks at this one.
    weakness(const_cast<opyard_host&>(host_.table()));
  }
  ~Trial() { store().remove(file_); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  TrialEnd run(const std::function<void(const plugin::Description&)>& while_active) {
    TrialEnd end;
    on_control([&] {
      image_ = plugin::Image::map(file_, lint_);
      std::string abi;
      table_ = plugin::shake_hands(*image_, lint_.note, &abi);
      report_step("init at a weak host");
      const int32_t code = table_.init ? table_.init(&host_.table(), &instance_, status_.get()) : 0;
      if (code != 0) end.refused = status_.error(code, "init").message();
    });
    if (end.refused.empty()) live(while_active, &end);
    report_step("unmapping it");
    control_ = std::make_unique<ControlThread>("opyard-trial", [] {});
    std::optional<std::string> mapped;
    on_control([&] { mapped = image_->unmap(); });
    if (mapped) end.problem = "it was not unmapped: " + *mapped;
    if (leases_.total() > 0) {
      end.problem = str_cat("it has not given back ", leases_.total(), " leases");
    }
    return end;
  }

 private:
  static plugin::FileStore& store() {
    static auto& made = *new plugin::FileStore;
    return made;
  }
  static uint64_t next_number() {
    static uint64_t number = 0;
    return ++number;
  }
  void on_control(const std::function<void()>& step) {
    control_->run(step, plugin::Clock::now() + std::chrono::hours(1));
  }

  // From a start that went well to fini.
  void live(const std::function<void(const plugin::Description&)>& while_active, TrialEnd* end) {
    bool active = false;
    on_control([&] {
      report_step("its extensions and activate at a weak host");
      try {
        brought_ = plugin::read_brought(table_, instance_, lint_.note, status_);
      } catch (const Error& error) {
        end->refused = error.message();
        return;
      }
      plugin::describe_blocks(brought_.blocks, plugin::is_same_build(lint_.note), &description_);
      const int32_t code = table_.activate ? table_.activate(instance_, status_.get()) : 0;
      if (code != 0) end->refused = status_.error(code, "activate").message();
      active = code == 0;
    });
    if (active) {
      if (while_active) call(while_active, end);
      on_control([&] { stop(end); });
    }
    report_step("fini");
    on_control([&] {
      if (table_.fini) table_.fini(instance_);
    });
  }

  void call(const std::function<void(const plugin::Description&)>& while_active, TrialEnd* end) {
    try {
      Registration registration =
          Dispatcher::global().register_blocks(brought_.blocks, Origin{lint_.note.name, 1});
      while_active(description_);
      registration.reset();
    } catch (const Error& error) {
      end->problem = error.message();
    }
    Dispatcher::global().synchronize();
  }

  void stop(TrialEnd* end) {
    host_.request_stop();
    const auto deadline = static_cast<uint64_t>(
        (plugin::Clock::now() + std::chrono::seconds(5)).time_since_epoch().count());
    report_step("quiesce and drain");
    int32_t code = table_.quiesce ? table_.quiesce(instance_, deadline, status_.get()) : 0;
    if (code == 0 && table_.drain) code = table_.drain(instance_, deadline, status_.get());
    if (code != 0) end->problem = status_.error(code, "its end").message();
  }

  plugin::StoredFile file_;
  plugin::LintReport lint_;
  plugin::Leases leases_;
  plugin::HostTable host_;
  plugin::StatusRoom status_;
  std::unique_ptr<ControlThread> control_ = std::make_unique<ControlThread>("opyard-trial", [] {});
  std::unique_ptr<plugin::Image> image_;
  opyard_plugin_table table_{};
  void* instance_ = nullptr;
  plugin::Brought brought_;
  plugin::Description description_;
};

}  // namespace

TrialEnd live_at_weak_host(const std::string& path, const Weakness& weakness,
                           const std::function<void(const plugin::Description&)>& while_active) {
  return Trial(path, weakness).run(while_active);
}

}  // namespace opyard::worker
