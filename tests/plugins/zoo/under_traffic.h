#pragma once

#include <gtest/gtest.h>

#include <string>

#include "opyard/plugin/host.h"
#include "table.h"
#include "visit.h"

#define EXPECT_SAYS(text, piece) \
  EXPECT_NE(std::string(text).find(piece), std::string::npos) << "said: " << (text)

namespace opyard::zoo {

// How long a process that hangs is waited for.
constexpr std::chrono::milliseconds kHangPatience{2000};

// A host with a good plugin in the slot "zoo" and another beside it. Once for a process.
class UnderTraffic {
 public:
  explicit UnderTraffic(bool will_hang = false);

  // The file takes the good one's place while both are called. When it is refused, that one goes on
  // as before; when it is taken, it is called and unloaded, and its place can be taken again.
  void visit(const std::string& path, const Load& load, const Call& call = {}, const End& end = {});

  plugin::ChangeOptions change;  // unprobed, nothing is kept warm, operators may go

 private:
  void expect_as_before(const std::string& path, const Load& load, const End& end);
  void call_and_end(uint64_t number, const Call& call, const End& end);

  plugin::Host& host_ = plugin::Host::global();
  uint64_t neighbour_ = 0;
  uint64_t good_ = 0;
};

}  // namespace opyard::zoo
