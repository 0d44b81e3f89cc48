#include "tests/plugins/torture/remote_caller.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "opyard/base/check.h"

namespace opyard::torture {
namespace {

using client::HostTensor;

constexpr size_t kRemoteSlots = 2;
constexpr size_t kMostKept = 16;
constexpr std::array kOps = {"which", "slow", "fails", "make", "nested"};

HostTensor numbers(float first, float second) {
  HostTensor made;
  made.sizes = {2};
  made.data.resize(2 * sizeof(float));
  std::memcpy(made.data.data(), &first, sizeof(float));
  std::memcpy(made.data.data() + sizeof(float), &second, sizeof(float));
  return made;
}

int64_t whole(const std::vector<client::Output>& outputs) {
  const auto* number = outputs.at(0).value.get_if<int64_t>();
  OPYARD_CHECK(number, kInternal, "the result is no number");
  return *number;
}

// Every element is the same number.
int64_t number_in(const HostTensor& tensor) {
  std::vector<int64_t> elements(tensor.data.size() / sizeof(int64_t));
  OPYARD_CHECK(elements.size() == 16, kInternal, "a tensor has ", elements.size(), " elements");
  std::memcpy(elements.data(), tensor.data.data(), tensor.data.size());
  const bool equal =
      std::adjacent_find(elements.begin(), elements.end(), std::not_equal_to<>()) == elements.end();
  return equal ? elements[0] : -1;
}

}  // namespace

RemoteCaller::RemoteCaller(RemoteState& state, const std::string& address, uint64_t seed)
    : state_(state), client_(client::connect(address)), random_(seed), judge_(state) {
  for (size_t slot = 0; slot < kRemoteSlots; ++slot) {
    for (const char* op : kOps) {
      const std::string name = str_cat(kSlots[slot], "::", op);
      schemas_[name] = client_.transport().get_schema(name).at(0);
    }
  }
  schemas_["add"] = client_.transport().get_schema("aten::add.Tensor").at(0);
}

const client::OpSchema& RemoteCaller::schema(size_t slot, const std::string& op) const {
  return schemas_.at(str_cat(kSlots[slot], "::", op));
}

void RemoteCaller::run() {
  while (!state_.stop.load(std::memory_order_relaxed)) {
    try {
      if (state_.gate.is_closed()) {
        look_at_kept(0);
        judge_.decide();
        state_.gate.pass();
      }
      step();
    } catch (const Error& error) {
      failed("a client broke off", error);
      return;
    }
  }
}

void RemoteCaller::step() {
  const uint64_t dice = random_() % 100;
  if (dice < 30) return add();
  call_slot(random_() % kRemoteSlots);
  if (dice > 90) look_at_kept(random_() % kMostKept);
}

// Where nobody is there any more, there is nothing to complain about.
void RemoteCaller::failed(const std::string& what, const Error& error) {
  if (state_.may_leave && (error.code() == Code::kUnavailable || error.code() == Code::kCancelled))
    return;
  state_.failures.add(what + ": " + error.what());
}

void RemoteCaller::call_slot(size_t slot) {
  const uint64_t begin_ns = now_ns();
  judge_.begin(slot);
  uint64_t build = 0;
  try {
    state_.calls.fetch_add(1, std::memory_order_relaxed);
    build = answer(slot, random_() % 100, begin_ns);
    if (build == 0) state_.failures.add("a call was answered by no build");
  } catch (const Error& error) {
    build = build_in(error.message());
    const bool meant = build != 0 && error.code() == Code::kAborted;
    const bool gone = build == 0 && error.code() == Code::kNotFound;
    if (gone) state_.gone.fetch_add(1, std::memory_order_relaxed);
    if (!meant && !gone) throw;
  }
  if (state_.in_order) judge_.saw(slot, {build, begin_ns, now_ns()});
}

uint64_t RemoteCaller::answer(size_t slot, uint64_t dice, uint64_t begin_ns) {
  const HostTensor x = numbers(1, 2);
  if (dice < 60) return static_cast<uint64_t>(whole(client_.call(schema(slot, "which"), {x})));
  if (dice < 70) {
    const auto us = static_cast<int64_t>(random_() % 5000);
    return static_cast<uint64_t>(whole(client_.call(schema(slot, "slow"), {x, us})));
  }
  if (dice < 80) return answer_nested(slot, begin_ns);
  if (dice < 95) return answer_made(slot);
  return static_cast<uint64_t>(whole(client_.call(schema(slot, "fails"), {x})));
}

uint64_t RemoteCaller::answer_nested(size_t slot, uint64_t begin_ns) {
  const auto us = static_cast<int64_t>(random_() % 3000);
  const auto outputs = client_.call(schema(slot, "nested"), {numbers(1, 2), us});
  const auto* seen = outputs.at(0).value.get_if<std::vector<int64_t>>();
  OPYARD_CHECK(seen && seen->size() == 5, kInternal, "a nested call gave no five numbers");
  if ((*seen)[1] != (*seen)[0] || (*seen)[3] != (*seen)[0] || (*seen)[4] != (*seen)[2]) {
    state_.failures.add(str_cat("wrong: a nested call of ", kSlots[slot],
                                " saw several builds: ", (*seen)[0], " ", (*seen)[1], " ",
                                (*seen)[3], "; ", (*seen)[2], " ", (*seen)[4]));
  }
  const size_t neighbour = slot + 1;
  if (neighbour < kRemoteSlots && state_.in_order) {
    judge_.saw(neighbour,
               {(*seen)[2] < 0 ? 0 : static_cast<uint64_t>((*seen)[2]), begin_ns, now_ns()});
  }
  return static_cast<uint64_t>((*seen)[0]);
}

// The result stays in the daemon, perhaps beyond its generation's time in the slot.
uint64_t RemoteCaller::answer_made(size_t slot) {
  const client::Id id = client_.run(str_cat(kSlots[slot], "::make"), {numbers(1, 2)});
  const auto build = static_cast<uint64_t>(number_in(client_.get(id)));
  kept_.push_back({id, build});
  if (kept_.size() > kMostKept) look_at_kept(kMostKept / 2);
  return build;
}

void RemoteCaller::add() {
  const auto x = static_cast<float>(random_() % 1000);
  const auto y = static_cast<float>(random_() % 1000);
  state_.calls.fetch_add(1, std::memory_order_relaxed);
  const auto outputs = client_.call(schemas_.at("add"), {numbers(x, 1), numbers(y, 2)});
  if (outputs.at(0).tensors.at(0).data != numbers(x + y, 3).data) {
    state_.failures.add(str_cat("wrong: ", x, " + ", y, " is something else"));
  }
}

void RemoteCaller::look_at_kept(size_t most) {
  std::shuffle(kept_.begin(), kept_.end(), random_);
  while (kept_.size() > most) {
    const Kept kept = kept_.back();
    kept_.pop_back();
    if (static_cast<uint64_t>(number_in(client_.get(kept.id))) != kept.build) {
      state_.failures.add(str_cat("wrong: a tensor of build ", kept.build, " changed"));
    }
    client_.release({kept.id});
    state_.tensors_kept.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace opyard::torture
