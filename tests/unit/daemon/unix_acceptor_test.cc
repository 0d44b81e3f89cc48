#include "rpc/unix_acceptor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include "tests/unit/daemon/temporary_directory.h"

namespace opyard::daemon {
namespace {

int connect_to(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    usleep(2000);
  }
  return false;
}

// True when the other side closed the connection without a word.
bool is_closed(int fd) {
  char byte = 0;
  return eventually([&] { return recv(fd, &byte, 1, MSG_DONTWAIT) == 0; });
}

class UnixAcceptorTest : public ::testing::Test {
 protected:
  void start(AcceptLimits limits) {
    acceptor_ = std::make_unique<UnixAcceptor>(directory_.file("s"), limits, [this](int fd) {
      const std::lock_guard lock(mutex_);
      handed_over_.push_back(fd);
    });
    acceptor_->start();
  }
  size_t handed_over() {
    const std::lock_guard lock(mutex_);
    return handed_over_.size();
  }
  // What gRPC does when it is done with a connection.
  void hang_up(size_t at) {
    const std::lock_guard lock(mutex_);
    shutdown(handed_over_[at], SHUT_RDWR);
    close(handed_over_[at]);
  }

  TemporaryDirectory directory_;
  std::mutex mutex_;
  std::vector<int> handed_over_;
  std::unique_ptr<UnixAcceptor> acceptor_;
};

TEST_F(UnixAcceptorTest, HandsOverAndCounts) {
  start({10, 10});
  const int client = connect_to(acceptor_->path());
  ASSERT_GE(client, 0);
  EXPECT_TRUE(eventually([&] { return handed_over() == 1 && acceptor_->connections() == 1; }));
  close(client);
  EXPECT_TRUE(eventually([&] { return acceptor_->connections() == 0; }));
  hang_up(0);
}

TEST_F(UnixAcceptorTest, CountsDownWhenOurSideHangsUp) {
  start({10, 10});
  const int client = connect_to(acceptor_->path());
  ASSERT_TRUE(eventually([&] { return handed_over() == 1; }));
  hang_up(0);
  EXPECT_TRUE(eventually([&] { return acceptor_->connections() == 0; }));
  EXPECT_TRUE(is_closed(client)) << "the watch must not keep the connection open";
  close(client);
}

TEST_F(UnixAcceptorTest, LimitsPerUserAndTotal) {
  for (const AcceptLimits limits : {AcceptLimits{10, 2}, AcceptLimits{2, 10}}) {
    acceptor_.reset();
    handed_over_.clear();
    start(limits);
    const int first = connect_to(acceptor_->path());
    const int second = connect_to(acceptor_->path());
    ASSERT_TRUE(eventually([&] { return handed_over() == 2; }));
    const int third = connect_to(acceptor_->path());
    EXPECT_TRUE(is_closed(third));
    EXPECT_EQ(handed_over(), 2u);
    close(first);
    ASSERT_TRUE(eventually([&] { return acceptor_->connections() == 1; }));
    const int fourth = connect_to(acceptor_->path());
    EXPECT_TRUE(eventually([&] { return handed_over() == 3; })) << "a place is free again";
    for (const int fd : {second, third, fourth}) close(fd);
    for (size_t i = 0; i < 3; ++i) hang_up(i);
  }
}

TEST_F(UnixAcceptorTest, OtherUsersAreRefusedByTheKernelsWord) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  start({10, 10});
  chmod(directory_.path().c_str(), 0755);
  chmod(acceptor_->path().c_str(), 0666);  // even if the file's mode let them in
  const pid_t child = fork();
  if (child == 0) {
    if (setresuid(65534, 65534, 65534) != 0) _exit(3);
    const int fd = connect_to(acceptor_->path());
    _exit(fd >= 0 && is_closed(fd) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the connection was not closed at once";
  EXPECT_EQ(handed_over(), 0u);
}

TEST_F(UnixAcceptorTest, StopLeavesConnectionsAlone) {
  start({10, 10});
  const int client = connect_to(acceptor_->path());
  ASSERT_TRUE(eventually([&] { return handed_over() == 1; }));
  acceptor_->stop();
  ASSERT_EQ(write(handed_over_[0], "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(client, &byte, 1), 1);
  close(client);
  hang_up(0);
}

}  // namespace
}  // namespace opyard::daemon
