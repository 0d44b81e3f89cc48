#include "trial.h"

#include "opyard/base/check.h"
#include "opyard/base/fingerprint.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/control_thread.h"
#include "opyard/plugin/host_table.h"
#include "opyard/plugin/records.h"
#include "opyard/plugin/schemas.h"
#include "report.h"

namespace opyard::worker {
namespace {

using plugin::ControlThread;

constexpr std::string_view kFingerprint = OPYARD_BUILD_FINGERPRINT;

opyard_str as_str(std::string_view text) {
  return {text.data(), static_cast<uint32_t>(text.size()), 0};
}

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
      shake_hands();
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

  void shake_hands() {
    const opyard_host_handshake hand{sizeof(hand), 0, OPYARD_ABI_OLDEST, OPYARD_ABI_VERSION,
                                     as_str(kFingerprint)};
    opyard_plugin_handshake answer{};
    answer.struct_size = sizeof(answer);
    const int32_t code = image_->entry()(&hand, &answer);
    OPYARD_CHECK(code == 0 && answer.table, kFailedPrecondition, "it refuses this host: ",
                 code == 0 ? "no table" : plugin::take_text(answer.message, 4096, "its reason"));
    table_ = plugin::take<opyard_plugin_table>(answer.table, OPYARD_PLUGIN_TABLE_SIZE_1_0,
                                               "the plugin's table");
  }

  const void* extension(std::string_view id) {
    return table_.get_extension ? table_.get_extension(instance_, as_str(id), 1) : nullptr;
  }

  // From a start that went well to fini.
  void live(const std::function<void(const plugin::Description&)>& while_active, TrialEnd* end) {
    bool active = false;
    on_control([&] {
      report_step("its extensions and activate at a weak host");
      read_extensions();
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

  void read_extensions() {
    const opyard_block* first = nullptr;
    uint64_t count = 0;
    if (const void* offered = extension("opyard.kernels")) {
      const auto kernels = plugin::take<opyard_kernels_ext>(offered, OPYARD_KERNELS_EXT_SIZE_1_0,
                                                            "the extension opyard.kernels");
      if (kernels.blocks && kernels.blocks(instance_, &first, &count, status_.get()) != 0) {
        count = 0;
      }
    }
    records_ = std::make_unique<plugin::Records>(first, count);
    if (const void* offered = extension("opyard.schemas")) schemas_ = plugin::Schemas(offered);
    for (const opyard_block& block : schemas_.blocks()) blocks_.push_back(block);
    for (const opyard_block& block : records_->blocks()) blocks_.push_back(block);
    plugin::describe_blocks(blocks_, lint_.note.fingerprint == kFingerprint, &description_);
  }

  void call(const std::function<void(const plugin::Description&)>& while_active, TrialEnd* end) {
    try {
      Registration registration =
          Dispatcher::global().register_blocks(blocks_, Origin{lint_.note.name, 1});
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
  plugin::Schemas schemas_;
  std::unique_ptr<plugin::Records> records_;
  std::vector<opyard_block> blocks_;
  plugin::Description description_;
};

}  // namespace

TrialEnd live_at_weak_host(const std::string& path, const Weakness& weakness,
                           const std::function<void(const plugin::Description&)>& while_active) {
  return Trial(path, weakness).run(while_active);
}

}  // namespace opyard::worker
