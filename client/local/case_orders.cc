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
constexpr int kSeededOrders = 2000;
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
  std::mt19937 random(kSeed);
  std::vector<Order> seen;
  for (int round = 0; all || round < kSeededOrders; ++round) {
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

// The table of every set of live kernels that was seen, and how it came about.
class Tables {
 public:
  void expect_same(uint64_t live, const std::string& table, const std::string& how) {
    const auto [found, is_new] = known_.try_emplace(live, table, how);
    if (is_new || found->second.first == table) return;
    fail_case(str_cat("the stored table depends on the order: after ", how, " and after ",
                      found->second.second, " it holds ",
                      first_difference(table, found->second.first)));
  }

 private:
  std::map<uint64_t, std::pair<std::string, std::string>> known_;
};

// Adds in one order and removes in another; looks at the table after every step.
void add_and_remove(const DispatchCase& written, const Order& adding, const Order& removing,
                    Tables* tables) {
  CaseYard yard(written, false);
  yard.add_fallbacks();
  yard.define();
  uint64_t live = 0;
  for (const size_t i : adding) {
    yard.add(i);
    live |= uint64_t{1} << i;
    // Of equal keys the newest counts, which is the one written last only when all are in.
    tables->expect_same(live, yard.stored_table(),
                        str_cat("adding in the order ", text_of(written, adding)));
  }
  for (const size_t i : removing) {
    yard.remove(i);
    live &= ~(uint64_t{1} << i);
    tables->expect_same(live, yard.stored_table(),
                        str_cat("removing in the order ", text_of(written, removing)));
  }
}

}  // namespace

void check_orders(const DispatchCase& written) {
  if (written.kernels.size() > 63) fail_case("more than 63 registrations");
  if (!written.permute || written.kernels.empty()) return;
  Tables tables;
  const Order as_written = written_order(written);
  for_each_order(written, true,
                 [&](const Order& order) { add_and_remove(written, order, as_written, &tables); });
  for_each_order(written, false,
                 [&](const Order& order) { add_and_remove(written, as_written, order, &tables); });
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
