#pragma once

#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "client/cpp/client.h"
#include "tests/plugins/torture/judge.h"

namespace opyard::torture {

// What may befall the daemon that callers talk to.
struct RemoteState : RunState {
  using RunState::RunState;
  std::atomic<bool> in_order{true};    // results are held against the histories
  std::atomic<bool> may_leave{false};  // the daemon: calls may find nobody
  std::atomic<uint64_t> calls{0};
};

// One client: a session of its own, calls of all slots and of the CPU plugin's operators, tensors
// kept in the daemon.
class RemoteCaller {
 public:
  // While all slots are filled.
  RemoteCaller(RemoteState& state, const std::string& address, uint64_t seed);
  // Until state.stop; keeps nothing while the gate is closed.
  void run();

 private:
  struct Kept {
    client::Id id;
    uint64_t build;
  };

  void step();
  void call_slot(size_t slot);
  uint64_t answer(size_t slot, uint64_t dice, uint64_t begin_ns);
  uint64_t answer_nested(size_t slot, uint64_t begin_ns);
  uint64_t answer_made(size_t slot);
  void add();
  void look_at_kept(size_t most);
  void failed(const std::string& what, const Error& error);
  const client::OpSchema& schema(size_t slot, const std::string& op) const;

  RemoteState& state_;
  client::Client client_;
  std::mt19937_64 random_;
  std::map<std::string, client::OpSchema> schemas_;
  std::vector<Kept> kept_;
  Judge judge_;
};

}  // namespace opyard::torture
