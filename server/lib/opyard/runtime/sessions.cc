#include "opyard/runtime/sessions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "opyard/base/check.h"
#include "opyard/base/log.h"

namespace opyard::runtime {
namespace {

template <typename T>
T granted(T wish, T standard, T most, const char* what) {
  OPYARD_CHECK(wish <= most, kInvalidArgument, "wished for ", wish, " ", what,
               ", but a session here may have at most ", most);
  return wish == 0 ? standard : wish;
}

}  // namespace

Sessions::Sessions(const Quotas& quotas, Executor& executor)
    : quotas_(quotas),
      executor_(executor),
      ledger_(std::make_shared<Ledger>(quotas.total_bytes)),
      sweeper_([this] { sweep(); }) {}

Sessions::~Sessions() {
  std::unordered_map<Token, std::shared_ptr<Session>, TokenHash> sessions;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = refusing_ = true;
    sessions.swap(sessions_);
  }
  wake_.notify_all();
  sweeper_.join();
  for (const auto& [token, session] : sessions) session->close([](Freed) {});
}

std::shared_ptr<Session> Sessions::open(const SessionWish& wish) {
  SessionWish terms = wish;
  OPYARD_CHECK(terms.label.size() <= kLimits.label_bytes, kInvalidArgument,
               "the session's label has ", terms.label.size(), " bytes, at most ",
               kLimits.label_bytes, " are allowed");
  terms.lease_seconds =
      granted(wish.lease_seconds, quotas_.lease_seconds,
              std::max(quotas_.max_lease_seconds, quotas_.lease_seconds), "seconds of lease");
  terms.bytes = granted(wish.bytes, quotas_.session_bytes, quotas_.session_bytes, "bytes");
  terms.handles = granted(wish.handles, quotas_.session_handles, quotas_.session_handles, "values");
  const std::lock_guard lock(mutex_);
  OPYARD_CHECK(!refusing_, kUnavailable, "the daemon is draining and opens no new sessions");
  OPYARD_CHECK(sessions_.size() < quotas_.sessions, kResourceExhausted, "all ", quotas_.sessions,
               " sessions are taken; close one or try again later");
  auto session =
      std::make_shared<Session>(std::move(terms), next_number_, executor_, ledger_, counts_);
  ++next_number_;
  sessions_.emplace(session->token(), session);
  return session;
}

std::shared_ptr<Session> Sessions::look_up(std::string_view token) const {
  const std::optional<Token> parsed = Token::from_bytes(token);
  if (!parsed) {
    throw CallError(Code::kUnauthenticated,
                    token.empty() ? "this call needs a session: send the token of OpenSession as "
                                    "the metadata opyard-session-bin"
                                  : str_cat("a session token has 16 bytes, got ", token.size()),
                    "NO_SESSION");
  }
  const auto found = sessions_.find(*parsed);
  if (found == sessions_.end()) {
    throw CallError(Code::kNotFound,
                    "no session with this token is alive: it was closed, its lease ended, or the "
                    "daemon was started anew; open a new one",
                    "SESSION_LOST");
  }
  return found->second;
}

SessionUse Sessions::find(std::string_view token) const {
  const std::lock_guard lock(mutex_);
  return SessionUse(look_up(token));
}

void Sessions::close(std::string_view token, std::function<void(Freed)> done) {
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(mutex_);
    session = look_up(token);
    sessions_.erase(session->token());
  }
  session->close(std::move(done));
}

void Sessions::refuse_new() {
  const std::lock_guard lock(mutex_);
  refusing_ = true;
}

size_t Sessions::size() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

void Sessions::sweep() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, std::chrono::milliseconds(500));
    const Clock::time_point now = Clock::now();
    std::vector<std::shared_ptr<Session>> over;
    for (const auto& [token, session] : sessions_) {
      if (session->expired(now)) over.push_back(session);
    }
    for (const auto& session : over) sessions_.erase(session->token());
    lock.unlock();
    for (const auto& session : over) {
      session->close([number = session->number()](Freed freed) {
        log(LogLevel::kInfo,
            str_cat("session ", number, ": lease over, ", freed.handles, " values freed"));
      });
    }
    over.clear();
    lock.lock();
  }
}

}  // namespace opyard::runtime
