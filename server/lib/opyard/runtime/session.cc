#include "opyard/runtime/session.h"

#include <utility>

#include "opyard/base/check.h"
#include "opyard/core/local_keys.h"
#include "opyard/core/tensor.h"
#include "opyard/runtime/execute.h"
#include "opyard/runtime/tensor_bytes.h"

namespace opyard::runtime {
namespace {

constexpr uint32_t kMaxStreamNumber = 65535;

[[noreturn]] void raise_closed() {
  throw CallError(Code::kAborted, "the session is closed; open a new one", "SESSION_LOST");
}

// Remote sessions see no memory of others, and pay for their own.
ThreadStateSnapshot thread_state_of(Generator* generator, SessionBudget* budget) {
  return ThreadStateSnapshot().with_generator(generator).with_budget(budget).with_flags(
      kThreadZeroMemory);
}

}  // namespace

Session::Session(SessionWish terms, uint32_t number, Executor& executor,
                 std::shared_ptr<Ledger> ledger, std::shared_ptr<CallCounts> counts)
    : number_(number),
      terms_(std::move(terms)),
      budget_(
          IntrusivePtr<SessionBudget>::adopt(new SessionBudget(std::move(ledger), terms_.bytes))),
      generator_(IntrusivePtr<Generator>::adopt(new Generator(0))),
      counts_(std::move(counts)),
      queue_(executor, kLimits.queued_frames),
      store_(terms_.handles, budget_),
      calls_(0, budget_),
      last_used_(Clock::now().time_since_epoch().count()) {}

Session::~Session() = default;

void Session::run(Task work) {
  if (closed()) raise_closed();
  queue_.run(std::move(work));
}

std::shared_ptr<Stream> Session::open_stream() {
  if (closed()) raise_closed();
  const int open = open_streams_.fetch_add(1);
  std::shared_ptr<Session> self = shared_from_this();
  // The count goes down with the last owner, also when an error is raised here.
  const std::shared_ptr<void> count(nullptr, [self](void*) { self->open_streams_.fetch_sub(1); });
  OPYARD_CHECK(open < static_cast<int>(kLimits.streams_per_session), kResourceExhausted,
               "the session has ", open, " open streams, which is the most; close one first");
  const uint32_t number = next_stream_.fetch_add(1);
  if (number > kMaxStreamNumber) {
    next_stream_.store(kMaxStreamNumber + 1);
    raise(Code::kResourceExhausted, str_cat("the session has used all its ", kMaxStreamNumber,
                                            " stream numbers; open a new session"));
  }
  auto* stream = new Stream(number, budget_);
  return std::shared_ptr<Stream>(stream, [count](Stream* s) { delete s; });
}

Outcome Session::execute(Stream& stream, const Frame& frame) {
  const ThreadStateGuard guard(thread_state_of(generator_.get(), budget_.get()));
  return execute_frame(*this, stream, frame);
}

Tensor Session::new_tensor(const std::vector<int64_t>& sizes, std::string_view dtype,
                           std::string_view device, uint64_t bytes) {
  // Every byte will be written before anybody sees the tensor, so it need not be zeroed.
  const ThreadStateGuard guard(
      ThreadStateSnapshot().with_generator(generator_.get()).with_budget(budget_.get()));
  return new_upload(sizes, dtype, device, bytes);
}

Tensor Session::readable(const Tensor& tensor) {
  const ThreadStateGuard guard(thread_state_of(generator_.get(), budget_.get()));
  return on_host(tensor);
}

void Session::bind_upload(Id id, Tensor tensor) {
  finish_upload(tensor);
  store_.bind(id, IValue(std::move(tensor)));
}

void Session::poison_upload(Id id, const Error& error) { poison_put(store_, id, error); }

void Session::close(std::function<void(Freed)> done) {
  closed_.store(true, std::memory_order_release);
  if (!ended_.fire()) return done(Freed{});
  Task work = [self = shared_from_this(), done = std::move(done)] {
    const TensorStore& store = self->store_;
    const Freed freed{store.size(), self->budget_->used() - store.charged_bytes()};
    self->store_.clear();
    done(freed);
  };
  queue_.run_last(std::move(work));
}

bool Session::expired(Clock::time_point now) const {
  if (users_.load() > 0) return false;
  const Clock::time_point last{Clock::duration(last_used_.load())};
  return now - last > std::chrono::seconds(terms_.lease_seconds);
}

SessionUse::SessionUse(std::shared_ptr<Session> session) : session_(std::move(session)) {
  if (session_) session_->users_.fetch_add(1);
}

SessionUse& SessionUse::operator=(SessionUse&& other) noexcept {
  std::swap(session_, other.session_);
  return *this;
}

SessionUse::~SessionUse() {
  if (!session_) return;
  session_->last_used_.store(Clock::now().time_since_epoch().count());
  session_->users_.fetch_sub(1);
}

}  // namespace opyard::runtime
