#include "client/cli/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "client/cpp/elements.h"
#include "opyard/base/error.h"

namespace opyard::cli {
namespace {

class Npy : public testing::Test {
 protected:
  ~Npy() override { std::remove(path_.c_str()); }

  // A version 1.0 file with this header and these bytes.
  void write(const std::string& header, const std::string& bytes) {
    std::ofstream file(path_, std::ios::binary);
    file << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size() & 0xff)
         << static_cast<char>(header.size() >> 8) << header << bytes;
  }
  void expect_refused(const std::string& words) {
    try {
      read_npy(path_);
      ADD_FAILURE() << "taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    }
  }

  const std::string path_ = testing::TempDir() + "opyard_" + std::to_string(getpid()) + ".npy";
};

TEST_F(Npy, WhatWasWrittenIsReadBack) {
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{}, {3}, {2, 3}, {0, 4}}) {
    for (const char* dtype : {"float32", "int64", "bool", "uint8", "float16", "complex128"}) {
      client::HostTensor tensor{dtype, sizes, {}, {}};
      for (size_t i = 0; i < client::element_count(sizes); ++i) {
        client::append_element(tensor.data, client::dtype_facts(dtype),
                               {client::ElementKind::kInteger, static_cast<int64_t>(i % 2), {}});
      }
      write_npy(path_, tensor);
      const client::HostTensor back = read_npy(path_);
      EXPECT_EQ(back.dtype, tensor.dtype);
      EXPECT_EQ(back.sizes, tensor.sizes);
      EXPECT_EQ(back.data, tensor.data);
    }
  }
}

TEST_F(Npy, Bfloat16IsWidened) {
  client::HostTensor tensor{"bfloat16", {1}, {}, {}};
  client::append_element(tensor.data, client::dtype_facts("bfloat16"),
                         {client::ElementKind::kReal, 0, 1.5});
  write_npy(path_, tensor);
  EXPECT_EQ(read_npy(path_).dtype, "float32");
}

TEST_F(Npy, FortranOrder) {
  write("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", std::string("\1\2\3\4\5\6"));
  EXPECT_EQ(read_npy(path_).data, std::string("\1\3\5\2\4\6"));
}

TEST_F(Npy, HostileFiles) {
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234");
  expect_refused("announces 8 bytes");
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 4), }", "");
  expect_refused("more than 2^40 elements");
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "");
  expect_refused("too large");
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "");
  expect_refused("cannot be read");
  write("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234");
  expect_refused("not supported");
  write("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "12345678");
  expect_refused("not supported");
  write("{'fortran_order': False, 'shape': (1,), }", "1234");
  expect_refused("no 'descr'");
  std::ofstream(path_, std::ios::binary) << "\x93NUMPY\x02" << '\0' << "\xff\xff\xff\x7f";
  expect_refused("longer than 1 MiB");
  std::ofstream(path_, std::ios::binary) << "hello, world";
  expect_refused("no .npy file");
  std::ofstream(path_, std::ios::binary) << "";
  expect_refused("ends too early");
}

TEST_F(Npy, AMissingFile) {
  try {
    read_npy(path_ + ".none");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
  }
}

}  // namespace
}  // namespace opyard::cli
