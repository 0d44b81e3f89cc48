#include "client/local/case_orders.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "opyard/base/check.h"

namespace opyard::client {
namespace {

using Order = std::vector<size_t>;

constexpr size_t kAllOrdersUpTo = 6;
constexpr size_t kSeededOrders = 2000;
constexpr size_t kMaxSteps = 40'000;  // longer orders are tried less often
constexpr uint32_t kSeed = 1;

// Synonyms are one key; CatchAll registers to the implicit composite.
std::string canonical_key(const std::string& written) {
  if (written == "CatchAll") return "CompositeImplicitAutograd";
  const auto key = try_parse_dispatch_key(written);
  return key ? to_string(*key) : written;
}

// Puts kernels of equal keys back into their written order, at the places that they share.
void keep_written_order(const DispatchCase& written, Order* order) {
  std::map<std::string, std::vector<size_t>> places;
  for (size_t i = 0; i < order->size(); ++i) {
    places[canonical_key(written.kernels[(*order)[i]].key)].push_back(i);
  }
  for (const auto& [key, at] : places) {
    std::vector<size_t> kernels;
    for (const size_t i : at) kernels.push_back((*order)[i]);
    std::sort(kernels.begin(), kernels.end());
    for (size_t i = 0; i < at.size(); ++i) (*order)[at[i]] = kernels[i];
  }
}

Order written_order(const DispatchCase& written) {
  Order order(written.kernels.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Calls `visit` with every order to try, the written one first; stops when it has seen enough.
void for_each_order(const DispatchCase& written, bool keep_equal_keys,
                    const std::function<void(const Order&)>& visit) {
  Order order = written_order(written);
  const bool all = order.size() <= kAllOrdersUpTo;
  const size_t rounds = std::min(kSeededOrders, kMaxSteps / std::max<size_t>(order.size(), 1));
  std::mt19937 random(kSeed);
  std::vector<Order> seen;
  for (size_t round = 0; all || round < rounds; ++round) {
    Order fixed = order;
    if (keep_equal_keys) keep_written_order(written, &fixed);
    // Orders of equal keys fall together.
    const bool known = all && std::find(seen.begin(), seen.end(), fixed) != seen.end();
    if (!known) {
      visit(fixed);
      if (all) seen.push_back(std::move(fixed));
    }
    if (!all) {
      std::shuffle(order.begin(), order.end(), random);
    } else if (!std::next_permutation(order.begin(), order.end())) {
      break;
    }
  }
}

std::string text_of(const DispatchCase& written, const Order& order) {
  std::string text;
  for (const size_t i : order) text += (text.empty() ? "" : ", ") + written.kernels[i].key;
  return text;
}

std::string first_difference(const std::string& a, const std::string& b) {
  const size_t at =
      static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const auto line = [&](const std::string& text) {
    const size_t begin = text.rfind('\n', at == 0 ? 0 : at - 1);
    const size_t from = begin == text.npos ? 0 : begin + 1;
    std::string out = text.substr(from, text.find('\n', from) - from);
    std::replace(out.begin(), out.end(), '\t', ' ');
    return out;
  };
  return str_cat("'", line(a), "' and '", line(b), "'");
}

// The tables of sets of live kernels must not depend on how the set came about.
class Tables {
 public:
  explicit Tables(const DispatchCase& written) : written_(written) {}

  void expect_same(const CaseYard& yard, const std::vector<bool>& live, const std::string& step,
                   const Order& order) {
    const uint64_t hash = yard.table_hash();
    const auto [known, is_new] = known_.try_emplace(live, hash);
    if (is_new || known->second == hash) return;
    // Of equal keys the newest counts, so the written order is the one to compare with.
    CaseYard plain(written_, false);
    plain.add_fallbacks();
    plain.define();
    for (size_t i = 0; i < live.size(); ++i) {
      if (live[i]) plain.add(i);
    }
    fail_case(str_cat("the stored table depends on the order: after ", step, " in the order ",
                      text_of(written_, order), ", and added as written, it holds ",
                      first_difference(yard.stored_table(), plain.stored_table())));
  }

 private:
  const DispatchCase& written_;
  std::map<std::vector<bool>, uint64_t> known_;
};

void run_calls(CaseYard& yard, const std::vector<CaseCall>& calls, const DispatchCase& written,
               const Order& order) {
  try {
    for (const CaseCall& call : calls) yard.run(call);
  } catch (const CaseFailure& failure) {
    fail_case(str_cat("registered in the order ", text_of(written, order), ": ", failure.message));
  }
}

// Those that the case removes, then the others.
Order removal_order(const DispatchCase& written) {
  Order order = written.remove;
  for (const size_t i : written_order(written)) {
    if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
  }
  return order;
}

// Adds in one order and removes in another; looks at the table after every step. With `calls`, runs
// the calls of the case at their time.
void add_and_remove(const DispatchCase& written, const Order& adding, const Order& removing,
                    bool calls, Tables* tables) {
  CaseYard yard(written, false);
  yard.add_fallbacks();
  yard.define();
  std::vector<bool> live(written.kernels.size());
  for (const size_t i : adding) {
    yard.add(i);
    live[i] = true;
    tables->expect_same(yard, live, "adding", adding);
  }
  if (calls) run_calls(yard, written.calls, written, adding);
  const auto call_after = [&](size_t step) {
    if (calls && step == written.remove.size()) {
      run_calls(yard, written.calls_after, written, adding);
    }
  };
  for (size_t step = 0; step < removing.size(); ++step) {
    call_after(step);
    yard.remove(removing[step]);
    live[removing[step]] = false;
    tables->expect_same(yard, live, "removing", removing);
  }
  call_after(removing.size());
}

}  // namespace

void check_orders(const DispatchCase& written) {
  if (!written.permute || written.kernels.empty()) return;
  Tables tables(written);
  const Order as_written = written_order(written);
  const Order removal = removal_order(written);
  for_each_order(written, true, [&](const Order& order) {
    add_and_remove(written, order, removal, true, &tables);
  });
  for_each_order(written, false, [&](const Order& order) {
    add_and_remove(written, as_written, order, false, &tables);
  });
}

void check_refused(const DispatchCase& written) {
  const auto refused = [&](const Order& order) {
    CaseYard yard(written, false);
    std::string before;
    expect_error(written.error, str_cat("registering in the order ", text_of(written, order)), [&] {
      before = yard.state();
      yard.add_fallbacks();
      before = yard.state();
      yard.define();
      for (const size_t i : order) {
        before = yard.state();
        yard.add(i);
      }
    });
    if (yard.state() != before) {
      fail_case(str_cat("the refused registration changed the state: ",
                        first_difference(yard.state(), before)));
    }
    yard.check_invariants();
  };
  if (!written.permute) return refused(written_order(written));
  for_each_order(written, true, refused);
}

}  // namespace opyard::client
