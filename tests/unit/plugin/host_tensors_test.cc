#include <cstring>

#include "opyard/core/ivalue.h"
#include "opyard/plugin/backend_claims.h"
#include "opyard/plugin/device_runtime.h"
#include "tests/unit/plugin/fake_device.h"
#include "tests/unit/plugin/host_fixture.h"

namespace opyard::plugin {
namespace {

constexpr opyard_device kCpu = {OPYARD_DEVICE_CPU, -1};

struct HostTensors : testing::HostFixture {
  const opyard_tensors& tensors = extension<opyard_tensors>("opyard.tensors");

  opyard_tensor make(std::vector<int64_t> sizes, uint32_t dtype = OPYARD_FLOAT32) {
    opyard_tensor made = 0;
    EXPECT_EQ(tensors.empty(sizes.data(), nullptr, static_cast<uint32_t>(sizes.size()), dtype, kCpu,
                            &made, &status),
              0)
        << status.message;
    return made;
  }
  opyard_tensor_view view(opyard_tensor tensor) {
    opyard_tensor_view view;
    std::memset(&view, 0xff, sizeof(view));
    EXPECT_EQ(tensors.view(tensor, &view, sizeof(view), &status), 0) << status.message;
    return view;
  }
};

TEST(HostExtensions, AreFoundByNameAndVersion) {
  EXPECT_TRUE(offers_host_extension("opyard.tensors/1"));
  EXPECT_TRUE(offers_host_extension("opyard.calls/1"));
  EXPECT_TRUE(offers_host_extension("opyard.threads/1"));
  for (const char* wrong : {"opyard.tensors/2", "opyard.tensors/0", "opyard.tensors/",
                            "opyard.tensors", "opyard.tensors/1x", "opyard.tensors/-1",
                            "opyard.tensors/99999999999999999999", "other/1", "", "/"}) {
    EXPECT_FALSE(offers_host_extension(wrong)) << wrong;
  }
  EXPECT_EQ(find_host_extension("opyard.tensors", 2), nullptr);
}

TEST_F(HostTensors, AViewShowsTheTensorAsDlpackDoes) {
  const Tensor base = make_tensor({4, 6}, ScalarType::kFloat64);
  const Tensor tensor = view_of(base, {2, 3}, {12, 2}, 5);
  const opyard_tensor_view seen = view(handle(tensor));
  EXPECT_EQ(seen.data, tensor.raw_data());
  EXPECT_EQ(seen.device.type, 1);
  EXPECT_EQ(seen.device.id, 0);
  ASSERT_EQ(seen.ndim, 2);
  EXPECT_EQ(seen.dtype.code, 2);
  EXPECT_EQ(seen.dtype.bits, 64);
  EXPECT_EQ(seen.dtype.lanes, 1);
  EXPECT_EQ(seen.shape[1], 3);
  EXPECT_EQ(seen.strides[0], 12);
  EXPECT_EQ(seen.byte_offset, 0u);
  EXPECT_EQ(seen.handle, handle(tensor));
  EXPECT_EQ(seen.storage_data, base.raw_data());
  EXPECT_EQ(seen.storage_bytes, 4 * 6 * sizeof(double));
  EXPECT_EQ(seen.numel, 6);
  EXPECT_EQ(seen.dtype_number, uint32_t{OPYARD_FLOAT64});
  EXPECT_EQ(seen.flags, 0u);
  EXPECT_EQ(view(handle(base)).flags, uint32_t{OPYARD_CONTIGUOUS});
  EXPECT_EQ(view(handle(wrapped_number(2.0))).flags,
            uint32_t{OPYARD_CONTIGUOUS | OPYARD_WRAPPED_NUMBER});
}

TEST_F(HostTensors, EveryDtypeHasItsDlpackCode) {
  const std::pair<uint32_t, std::pair<int, int>> codes[] = {
      {OPYARD_BOOL8, {6, 8}},     {OPYARD_UINT16, {1, 16}},        {OPYARD_INT64, {0, 64}},
      {OPYARD_BFLOAT16, {4, 16}}, {OPYARD_COMPLEX64, {5, 64}},     {OPYARD_QINT8, {3, 8}},
      {OPYARD_FLOAT16, {2, 16}},  {OPYARD_FLOAT8_E4M3FN, {10, 8}}, {OPYARD_FLOAT8_E5M2, {12, 8}}};
  for (const auto& [number, wanted] : codes) {
    const opyard_tensor tensor = make({1}, number);
    const opyard_tensor_view seen = view(tensor);
    EXPECT_EQ(seen.dtype.code, wanted.first) << number;
    EXPECT_EQ(seen.dtype.bits, wanted.second) << number;
    tensors.release(tensor);
  }
}

TEST_F(HostTensors, AViewIsWrittenAsFarAsItGoesAndNoFurther) {
  const opyard_tensor tensor = make({3});
  struct {
    opyard_tensor_view view;
    uint64_t later[2];
    uint64_t behind;
  } memory;
  std::memset(&memory, 0xff, sizeof(memory));
  ASSERT_EQ(tensors.view(tensor, &memory.view, OPYARD_DLTENSOR_SIZE, &status), 0);
  EXPECT_EQ(memory.view.shape[0], 3);
  EXPECT_EQ(memory.view.handle, ~uint64_t{0});
  ASSERT_EQ(tensors.view(tensor, &memory.view, sizeof(memory) - 8, &status), 0);
  EXPECT_EQ(memory.later[1], 0u) << "what this host does not know is zero";
  EXPECT_EQ(memory.behind, ~uint64_t{0});
  for (const uint64_t wrong : {0ul, 8ul, 47ul, 49ul, 1ul << 40}) {
    expect_refused(tensors.view(tensor, &memory.view, wrong, &status), "a view of");
  }
  tensors.release(tensor);
}

TEST_F(HostTensors, NewTensorsAreCountedByTheirHandles) {
  const opyard_tensor tensor = make({2, 3});
  const auto* impl = reinterpret_cast<const TensorImpl*>(tensor);
  EXPECT_EQ(impl->use_count(), 1u);
  tensors.retain(tensor);
  EXPECT_EQ(impl->use_count(), 2u);
  tensors.release(tensor);
  EXPECT_TRUE(impl->is_contiguous());
  const int64_t sizes[] = {2, 2};
  const int64_t strides[] = {1, 2};
  opyard_tensor window = 0;
  ASSERT_EQ(tensors.window(tensor, sizes, strides, 2, 1, &window, &status), 0) << status.message;
  EXPECT_EQ(static_cast<char*>(view(window).data), static_cast<char*>(view(tensor).data) + 4);
  tensors.release(window);
  opyard_tensor turned = 0;
  ASSERT_EQ(tensors.empty(sizes, strides, 2, OPYARD_INT8, kCpu, &turned, &status), 0);
  EXPECT_EQ(view(turned).strides[1], 2);
  tensors.release(turned);
  tensors.release(tensor);
  tensors.retain(0);
  tensors.release(0);
}

TEST_F(HostTensors, WhatMakesNoTensorIsRefused) {
  const int64_t sizes[] = {2, -3};
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  opyard_tensor made = 77;
  const auto empty = [&](const int64_t* s, uint32_t n, uint32_t dtype, opyard_device device,
                         opyard_tensor* out) {
    return tensors.empty(s, nullptr, n, dtype, device, out, &status);
  };
  expect_refused(empty(sizes, 2, OPYARD_INT8, kCpu, &made), "negative");
  expect_refused(empty(huge, 2, OPYARD_INT8, kCpu, &made), "");
  expect_refused(empty(nullptr, 1, OPYARD_INT8, kCpu, &made), "null pointer");
  expect_refused(empty(sizes, 65, OPYARD_INT8, kCpu, &made), "64 are the most");
  expect_refused(empty(sizes, 1, 17, kCpu, &made), "no dtype number 17");
  expect_refused(empty(sizes, 1, 0x107, kCpu, &made), "no dtype number 263");
  expect_refused(empty(sizes, 1, OPYARD_INT8, {0, 0}, &made), "no device of kind 0");
  expect_refused(empty(sizes, 1, OPYARD_INT8, {17, 0}, &made), "no device of kind 17");
  expect_refused(empty(sizes, 1, OPYARD_INT8, {1, -2}, &made), "index -2");
  expect_refused(empty(sizes, 1, OPYARD_INT8, {1, 1 << 20}, &made), "index");
  expect_refused(empty(sizes, 1, OPYARD_INT8, kCpu, nullptr), "null pointer");
  EXPECT_EQ(empty(sizes, 1, OPYARD_INT8, {OPYARD_DEVICE_PRIVATE2, 0}, &made),
            static_cast<int32_t>(Code::kFailedPrecondition));
  EXPECT_EQ(made, 77u);
  opyard_tensor_view seen;
  expect_refused(tensors.view(0, &seen, sizeof(seen), &status), "undefined");
  expect_refused(tensors.view(3, &seen, sizeof(seen), &status), "no tensor handle");
  EXPECT_EQ(tensors.view(0, nullptr, sizeof(seen), nullptr),
            static_cast<int32_t>(Code::kInvalidArgument));
}

struct Memory {
  int deleted = 0;
  Leases* leases = nullptr;
  uint64_t leases_then = 0;
  float data[6] = {0, 1, 2, 3, 4, 5};

  opyard_memory record(uint64_t bytes = sizeof(data)) {
    const auto end = [](void* context) {
      auto* self = static_cast<Memory*>(context);
      ++self->deleted;
      if (self->leases) self->leases_then = self->leases->count(LeaseKind::kStorage);
    };
    return {sizeof(opyard_memory), 0, data, bytes, kCpu, end, this};
  }
};

TEST_F(HostTensors, ForeignMemoryHoldsALeaseUntilItsDeleterHasRun) {
  Memory memory;
  memory.leases = &leases;
  const opyard_memory record = memory.record();
  opyard_storage storage = 0;
  ASSERT_EQ(tensors.storage_create(host, &record, &storage, &status), 0) << status.message;
  EXPECT_EQ(leases.count(LeaseKind::kStorage), 1u);
  const int64_t sizes[] = {2};
  opyard_tensor tensor = 0;
  ASSERT_EQ(tensors.on_storage(storage, OPYARD_FLOAT32, sizes, nullptr, 1, 4, &tensor, &status), 0);
  tensors.storage_release(storage);
  EXPECT_EQ(static_cast<float*>(view(tensor).data)[0], 4.0f);
  opyard_storage again = 0;
  ASSERT_EQ(tensors.storage_of(tensor, &again, &status), 0);
  EXPECT_EQ(again, storage);
  void* data = nullptr;
  uint64_t bytes = 0;
  ASSERT_EQ(tensors.storage_data(again, &data, &bytes, &status), 0);
  EXPECT_EQ(data, memory.data);
  EXPECT_EQ(bytes, sizeof(memory.data));
  EXPECT_EQ(tensors.storage_data(again, nullptr, nullptr, &status), 0);
  tensors.release(tensor);
  tensors.storage_retain(again);
  tensors.storage_release(again);
  EXPECT_EQ(memory.deleted, 0);
  tensors.storage_release(again);
  EXPECT_EQ(memory.deleted, 1);
  EXPECT_EQ(memory.leases_then, 1u) << "the lease outlives the deleter";
  EXPECT_EQ(leases.total(), 0u);
}

TEST_F(HostTensors, MemoryThatIsRefusedStaysItsOwners) {
  Memory memory;
  opyard_storage storage = 77;
  opyard_memory record = memory.record(uint64_t{1} << 63);
  expect_refused(tensors.storage_create(host, &record, &storage, &status), "no memory has");
  record = memory.record();
  record.data = nullptr;
  expect_refused(tensors.storage_create(host, &record, &storage, &status), "null pointer");
  record = memory.record();
  record.struct_size = 40;
  expect_refused(tensors.storage_create(host, &record, &storage, &status), "struct_size is 40");
  record.struct_size = 0xffffffffu;
  expect_refused(tensors.storage_create(host, &record, &storage, &status), "struct_size");
  record = memory.record();
  record.device.kind = 99;
  expect_refused(tensors.storage_create(host, &record, &storage, &status), "no device");
  record = memory.record();
  expect_refused(tensors.storage_create(nullptr, &record, &storage, &status), "null pointer");
  expect_refused(tensors.storage_create(host, nullptr, &storage, &status), "null pointer");
  expect_refused(tensors.storage_create(host, &record, nullptr, &status), "null pointer");
  EXPECT_EQ(memory.deleted, 0);
  EXPECT_EQ(leases.total(), 0u);
  EXPECT_EQ(storage, 77u);
  const int64_t sizes[] = {7};
  opyard_tensor tensor = 0;
  ASSERT_EQ(tensors.storage_create(host, &record, &storage, &status), 0);
  expect_refused(
      tensors.on_storage(storage, OPYARD_FLOAT32, sizes, nullptr, 1, 0, &tensor, &status), "");
  expect_refused(tensors.on_storage(0, OPYARD_FLOAT32, sizes, nullptr, 1, 0, &tensor, &status),
                 "no storage");
  tensors.storage_release(storage);
  EXPECT_EQ(memory.deleted, 1);
}

TEST_F(HostTensors, ValuesAreMadeAndGivenBack) {
  const Tensor one = make_tensor({1}, ScalarType::kFloat32);
  const opyard_tensor handles[] = {handle(one), 0};
  opyard_value value{};
  const auto taken = [&] { return IValue::adopt(std::exchange(value, {})); };
  ASSERT_EQ(tensors.make_tensors(handles, 2, &value, &status), 0) << status.message;
  EXPECT_EQ(one.unsafe_impl()->use_count(), 2u);
  EXPECT_FALSE(IValue(*reinterpret_cast<IValue*>(&value)).to_tensor_list()[1].defined());
  tensors.value_retain(&value);
  opyard_value second = value;
  tensors.value_release(&second);
  EXPECT_EQ(second.tag, uint32_t{OPYARD_NONE});
  EXPECT_EQ(one.unsafe_impl()->use_count(), 2u);
  tensors.value_release(&value);
  EXPECT_EQ(one.unsafe_impl()->use_count(), 1u);

  ASSERT_EQ(tensors.make_str(text("yard"), &value, &status), 0);
  EXPECT_EQ(taken().to_string_view(), "yard");
  ASSERT_EQ(tensors.make_complex(1, -2, &value, &status), 0);
  EXPECT_EQ(taken().to_complex(), std::complex<double>(1, -2));
  const int64_t ints[] = {3, -4};
  ASSERT_EQ(tensors.make_ints(ints, 2, &value, &status), 0);
  EXPECT_EQ(taken().to_int_list()[1], -4);
  ASSERT_EQ(tensors.make_ints(nullptr, 0, &value, &status), 0);
  EXPECT_EQ(taken().to_int_list().size(), 0u);
  const double doubles[] = {0.5};
  ASSERT_EQ(tensors.make_doubles(doubles, 1, &value, &status), 0);
  EXPECT_EQ(taken().to_double_list()[0], 0.5);
  const uint8_t bools[] = {1, 0};
  ASSERT_EQ(tensors.make_bools(bools, 2, &value, &status), 0);
  EXPECT_TRUE(taken().to_bool_list()[0]);
  const opyard_value pair[] = {{OPYARD_INT, 0, 7}, {OPYARD_NONE, 0, 0}};
  ASSERT_EQ(tensors.make_values(OPYARD_TUPLE, pair, 2, &value, &status), 0);
  EXPECT_EQ(taken().to_list()[0].to_int(), 7);
  ASSERT_EQ(tensors.make_values(OPYARD_LIST, pair, 2, &value, &status), 0);
  EXPECT_EQ(taken().list_size(), 2u);
  ASSERT_EQ(tensors.make_values(OPYARD_DICT, pair, 2, &value, &status), 0);
  EXPECT_EQ(taken().to_dict()[0].to_int(), 7);
  tensors.value_retain(nullptr);
  tensors.value_release(nullptr);
}

TEST_F(HostTensors, ValuesThatDoNotExistAreRefused) {
  const opyard_value odd[] = {{99, 0, 7}};
  const uint8_t two[] = {2};
  opyard_value value{77, 0, 0};
  expect_refused(tensors.make_values(OPYARD_LIST, odd, 1, &value, &status), "no tag 99");
  expect_refused(tensors.make_values(OPYARD_INT, nullptr, 0, &value, &status), "a LIST");
  const opyard_value key[] = {{OPYARD_INT, 0, 7}};
  expect_refused(tensors.make_values(OPYARD_DICT, key, 1, &value, &status), "has no value");
  expect_refused(tensors.make_bools(two, 1, &value, &status), "0 or 1");
  expect_refused(tensors.make_ints(nullptr, 1, &value, &status), "null pointer");
  const int64_t ints[] = {1};
  expect_refused(tensors.make_ints(ints, uint64_t{1} << 62, &value, &status), "are the most");
  expect_refused(tensors.make_str({nullptr, 4, 0}, &value, &status), "null pointer");
  expect_refused(tensors.make_ints(ints, 1, nullptr, &status), "null pointer");
  EXPECT_EQ(value.tag, 77u);
}

TEST_F(HostTensors, DevicesAreFoundByName) {
  opyard_device device{};
  ASSERT_EQ(tensors.device_named(text("cuda:1"), &device, &status), 0);
  EXPECT_EQ(device.kind, uint32_t{OPYARD_DEVICE_CUDA});
  EXPECT_EQ(device.index, 1);
  expect_refused(tensors.device_named(text("nowhere"), &device, &status), "nowhere");
  expect_refused(tensors.device_named({nullptr, 3, 0}, &device, &status), "null pointer");
}

TEST_F(HostTensors, AThreadHasAStatusOfItsOwn) {
  opyard_status* own = tensors.own_status();
  EXPECT_EQ(tensors.status_text(own).size, 0u);
  opyard_device device{};
  EXPECT_NE(tensors.device_named(text("nowhere"), &device, own), 0);
  const opyard_str why = tensors.status_text(own);
  EXPECT_NE(std::string_view(why.data, why.size).find("nowhere"), std::string_view::npos);
  EXPECT_EQ(tensors.own_status(), own);
  EXPECT_EQ(tensors.status_text(own).size, 0u);
  EXPECT_EQ(tensors.status_text(nullptr).size, 0u);
}

// A plugin may have kept the handle from before.
TEST_F(HostTensors, MemoryThatIsGoneIsNotShown) {
  const BackendClaim claim("sham");
  FakeDevice device;
  Leases of_device;
  DeviceRuntime runtime(&device.table, &device, claim.backend(), of_device, "sham", 1);
  runtime.publish();
  const Tensor kept = make_tensor({2}, ScalarType::kFloat32, Device(claim.backend()));
  opyard_tensor_view view;
  opyard_storage storage = 0;
  void* data = nullptr;
  ASSERT_EQ(tensors.view(handle(kept), &view, sizeof(view), &status), 0) << status.message;
  ASSERT_EQ(tensors.storage_of(handle(kept), &storage, &status), 0) << status.message;
  EXPECT_EQ(tensors.storage_data(storage, &data, nullptr, &status), 0) << status.message;
  EXPECT_EQ(data, view.data);
  runtime.withdraw();
  runtime.fail_storages();
  constexpr auto kGone = static_cast<int32_t>(Code::kFailedPrecondition);
  EXPECT_EQ(tensors.view(handle(kept), &view, sizeof(view), &status), kGone);
  EXPECT_NE(status.message.find("generation 1 of the plugin 'sham'"), std::string::npos);
  EXPECT_EQ(tensors.storage_data(storage, &data, nullptr, &status), kGone);
  tensors.storage_release(storage);
}

}  // namespace
}  // namespace opyard::plugin
