// Two builds of one plugin, over OpenBLAS and over BLIS, take each other's place while callers
// multiply matrices.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/plugin/host.h"

namespace opyard::plugin {
namespace {

constexpr const char* kOpenBlas = PLUGIN_DIR "/libopyard_plugin_outsider_openblas.so";
constexpr const char* kBlis = PLUGIN_DIR "/libopyard_plugin_outsider_blis.so";

template <typename T>
Tensor random_matrix(int64_t rows, int64_t columns, ScalarType dtype, std::mt19937_64& random) {
  std::uniform_real_distribution<double> numbers(-1, 1);
  const Tensor made = make_tensor({rows, columns}, dtype);
  for (int64_t i = 0; i < made.numel(); ++i) made.data<T>()[i] = static_cast<T>(numbers(random));
  return made;
}

// The largest difference from the product in long double, relative to what rounding may do: k
// products of numbers below 1, each rounded twice.
template <typename T>
double error_of(const Tensor& a, const Tensor& b, const Tensor& c) {
  const int64_t k = a.sizes()[1];
  const int64_t n = b.sizes()[1];
  double most = 0;
  for (int64_t i = 0; i < a.sizes()[0]; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      long double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += static_cast<long double>(a.data<T>()[i * k + l]) * b.data<T>()[l * n + j];
      }
      const auto is = static_cast<long double>(c.data<T>()[i * n + j]);
      most = std::max(most, static_cast<double>(std::abs(is - sum)));
    }
  }
  const double rounding = std::numeric_limits<T>::epsilon();
  return most / (2 * static_cast<double>(k) * rounding);
}

struct Load {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> products{0};
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> failed{0};
};

template <typename T>
void multiply(Load& load, ScalarType dtype, std::mt19937_64& random) {
  Dispatcher& dispatcher = Dispatcher::global();
  const auto size = [&] { return static_cast<int64_t>(random() % 64 + 1); };
  const int64_t inner = size();
  const Tensor a = random_matrix<T>(size(), inner, dtype, random);
  const Tensor b = random_matrix<T>(inner, size(), dtype, random);
  const Tensor c = dispatcher.call<Tensor, const Tensor&, const Tensor&>(
      dispatcher.get("outsider::matmul"), a, b);
  ++load.products;
  if (!(error_of<T>(a, b, c) <= 1)) ++load.wrong;
}

void call_on(Load& load, uint64_t seed) {
  std::mt19937_64 random(seed);
  while (!load.stop) {
    try {
      multiply<double>(load, ScalarType::kFloat64, random);
      multiply<float>(load, ScalarType::kFloat32, random);
    } catch (const Error& error) {
      ++load.failed;
      ADD_FAILURE() << error.what();
      return;
    }
  }
}

std::string by() {
  Dispatcher& dispatcher = Dispatcher::global();
  return dispatcher.call<std::string, const Tensor&>(dispatcher.get("outsider::by"),
                                                     make_tensor({1}, ScalarType::kFloat32));
}

GenerationInfo generation(uint64_t number) {
  for (const SlotInfo& slot : Host::global().list()) {
    for (const GenerationInfo& one : slot.generations) {
      if (one.number == number) return one;
    }
  }
  ADD_FAILURE() << "there is no generation " << number;
  return {};
}

bool is_mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) != std::string::npos) return true;
  }
  return false;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + " ";
  return all;
}

TEST(OutsidersTest, OpenBlasAndBlisTakeEachOthersPlaceUnderLoad) {
  constexpr int kSwaps = 40;
  Host& host = Host::global();
  ChangeOptions at_once;
  at_once.keep_warm = std::chrono::milliseconds(0);
  std::vector<uint64_t> numbers{host.load(kOpenBlas, at_once).new_generation};
  EXPECT_NE(by().find("OpenBLAS"), std::string::npos) << by();
  EXPECT_NE(joined(generation(numbers[0]).pinned_dependencies).find("libopenblas"),
            std::string::npos);
  Load load;
  std::vector<std::thread> callers;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    callers.emplace_back([&load, seed] { call_on(load, seed); });
  }
  for (int i = 0; i < kSwaps; ++i) {
    const uint64_t before = load.products;
    while (load.products < before + 20 && load.failed == 0) std::this_thread::yield();
    numbers.push_back(
        host.swap("outsider_matmul", i % 2 ? kOpenBlas : kBlis, at_once).new_generation);
    EXPECT_NE(by().find(i % 2 ? "OpenBLAS" : "BLIS"), std::string::npos) << by();
  }
  load.stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(load.wrong, 0u);
  EXPECT_EQ(load.failed, 0u);
  // Of the last two, one over each library.
  std::string pinned = joined(generation(numbers.back()).pinned_dependencies);
  pinned += joined(generation(numbers[numbers.size() - 2]).pinned_dependencies);
  for (const char* library : {"libgomp", "libopenblas", "libblis"}) {
    EXPECT_NE(pinned.find(library), std::string::npos) << pinned;
  }
  const ChangeReport end = host.unload("outsider_matmul");
  EXPECT_EQ(end.old_state, State::kClosed) << end.note;
  ASSERT_TRUE(host.settle(std::chrono::milliseconds(20'000)));
  const std::vector<SlotInfo> slots = host.list();
  for (const GenerationInfo& one : slots.at(0).generations) {
    EXPECT_EQ(one.state, State::kClosed) << one.number << ": " << one.why_not_unloaded;
  }
  EXPECT_FALSE(is_mapped("outsider_"));
  // Callers' teams of threads stand in libgomp; BLIS never gives its memory back.
  for (const char* library : {"libgomp", "libopenblas", "libblis"}) {
    EXPECT_TRUE(is_mapped(library)) << library;
  }
  std::cout << load.products << " products; what stays: " << pinned << "\n";
}

}  // namespace
}  // namespace opyard::plugin
