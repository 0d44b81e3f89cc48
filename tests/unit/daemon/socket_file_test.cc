#include "rpc/socket_file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>

#include "opyard/base/error.h"
#include "tests/unit/daemon/temporary_directory.h"

namespace opyard::daemon {
namespace {

mode_t mode_of(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

Code code_of_open(const std::string& path) {
  try {
    SocketFile file(path);
    return Code::kOk;
  } catch (const Error& error) {
    return error.code();
  }
}

class SocketFileTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
};

TEST_F(SocketFileTest, OwnerOnlyWhateverTheUmask) {
  const mode_t before = umask(0);
  const std::string path = directory_.file("new/opyardd.sock");
  {
    const SocketFile file(path);
    EXPECT_EQ(mode_of(path), 0600u);
    EXPECT_EQ(mode_of(directory_.file("new")), 0700u);
    EXPECT_EQ(mode_of(path + ".lock"), 0600u);
  }
  umask(before);
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "the socket's file goes with it";
}

TEST_F(SocketFileTest, ASecondDaemonIsRefused) {
  const std::string path = directory_.file("s");
  const SocketFile first(path);
  EXPECT_EQ(code_of_open(path), Code::kAlreadyExists);
  EXPECT_EQ(access(path.c_str(), F_OK), 0) << "the first one's file is still there";
}

TEST_F(SocketFileTest, AStaleSocketIsReplaced) {
  const std::string path = directory_.file("s");
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
  EXPECT_EQ(code_of_open(path), Code::kOk);
}

TEST_F(SocketFileTest, ALivingStrangerIsNotReplaced) {
  const std::string path = directory_.file("s");
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  EXPECT_EQ(code_of_open(path), Code::kAlreadyExists);
  close(fd);
}

TEST_F(SocketFileTest, OtherFilesAreNeverDeleted) {
  const std::string path = directory_.file("precious");
  std::ofstream(path) << "data";
  EXPECT_EQ(code_of_open(path), Code::kFailedPrecondition);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
}

TEST_F(SocketFileTest, DirectoriesOpenToOthersAreRefused) {
  chmod(directory_.path().c_str(), 0777);
  EXPECT_EQ(code_of_open(directory_.file("s")), Code::kPermissionDenied);
  chmod(directory_.path().c_str(), 01777);
  EXPECT_EQ(code_of_open(directory_.file("s")), Code::kOk) << "like /tmp itself";
}

TEST_F(SocketFileTest, AnothersDirectoryIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  const std::string theirs = directory_.file("theirs");
  mkdir(theirs.c_str(), 0700);
  ASSERT_EQ(chown(theirs.c_str(), 65534, 65534), 0);
  EXPECT_EQ(code_of_open(theirs + "/s"), Code::kPermissionDenied);
}

TEST_F(SocketFileTest, MissingParentsAndLongPaths) {
  EXPECT_EQ(code_of_open(directory_.file("no/such/s")), Code::kFailedPrecondition);
  EXPECT_EQ(code_of_open(directory_.file(std::string(100, 'x'))), Code::kInvalidArgument);
}

}  // namespace
}  // namespace opyard::daemon
