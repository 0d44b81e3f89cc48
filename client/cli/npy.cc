#include "client/cli/npy.h"

#include <cstdint>
#include <fstream>

#include "client/cpp/elements.h"
#include "opyard/base/check.h"

namespace opyard::cli {
namespace {

using client::HostTensor;

constexpr size_t kMaxHeader = size_t{1} << 20;
constexpr std::string_view kMagic = "\x93NUMPY";

constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {"|b1", "bool"},      {"|u1", "uint8"},       {"|i1", "int8"},    {"<i2", "int16"},
    {"<i4", "int32"},     {"<i8", "int64"},       {"<u2", "uint16"},  {"<u4", "uint32"},
    {"<u8", "uint64"},    {"<f2", "float16"},     {"<f4", "float32"}, {"<f8", "float64"},
    {"<c8", "complex64"}, {"<c16", "complex128"},
};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  raise(Code::kInvalidArgument, str_cat(path, ": ", why));
}

// The text behind "'key':" in the header's dictionary.
std::string_view field(const std::string& path, std::string_view header, std::string_view key) {
  const size_t at = header.find(str_cat("'", key, "':"));
  if (at == header.npos) refuse(path, str_cat("the header has no '", key, "'"));
  const size_t begin = header.find_first_not_of(' ', at + key.size() + 3);
  return begin == header.npos ? std::string_view() : header.substr(begin);
}

std::string dtype_of(const std::string& path, std::string_view header) {
  const std::string_view text = field(path, header, "descr");
  for (const auto& [code, name] : kTypes) {
    const std::string quoted = str_cat("'", code, "'");
    // One-byte types are written with any byte order.
    const bool any_order = code[0] == '|' && text.size() > 3 && text.substr(2, 2) == code.substr(1);
    if (text.starts_with(quoted) || (any_order && text[0] == '\'')) return std::string(name);
  }
  refuse(path, str_cat("the dtype ", text.substr(0, 20),
                       " is not supported; wanted little-endian numbers or bool"));
}

std::vector<int64_t> shape_of(const std::string& path, std::string_view header) {
  std::string_view text = field(path, header, "shape");
  std::vector<int64_t> sizes;
  if (!text.starts_with('(')) refuse(path, "the header's shape is not a tuple");
  for (size_t i = 1; i < text.size() && text[i] != ')'; ++i) {
    if (text[i] == ',' || text[i] == ' ' || text[i] == 'L') continue;
    int64_t size = 0;
    const size_t begin = i;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      size = size * 10 + (text[i] - '0');
      if (size > (int64_t{1} << 40)) refuse(path, "the header's shape is too large");
    }
    if (i == begin) refuse(path, "the header's shape cannot be read");
    --i;
    sizes.push_back(size);
    if (sizes.size() > 64) refuse(path, "the array has more than 64 dimensions");
  }
  return sizes;
}

std::string read_bytes(const std::string& path, std::ifstream& file, size_t count) {
  std::string bytes(count, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  if (static_cast<size_t>(file.gcount()) != count) refuse(path, "the file ends too early");
  return bytes;
}

std::string read_header(const std::string& path, std::ifstream& file) {
  const std::string start = read_bytes(path, file, 8);
  if (!start.starts_with(kMagic)) refuse(path, "this is no .npy file");
  const int version = start[6];
  if (version < 1 || version > 3) refuse(path, "the .npy version is not 1, 2 or 3");
  const std::string length = read_bytes(path, file, version == 1 ? 2 : 4);
  size_t size = 0;
  for (size_t i = length.size(); i-- > 0;) size = size << 8 | static_cast<uint8_t>(length[i]);
  if (size > kMaxHeader) refuse(path, "the header is longer than 1 MiB");
  return read_bytes(path, file, size);
}

// Reorders column-major elements to row-major ones.
std::string from_fortran(const std::string& data, const std::vector<int64_t>& sizes, size_t bytes) {
  std::string out(data.size(), '\0');
  std::vector<int64_t> index(sizes.size(), 0);
  for (size_t to = 0; to + bytes <= out.size(); to += bytes) {
    size_t from = 0;
    for (size_t d = sizes.size(); d-- > 0;) {
      from = from * static_cast<size_t>(sizes[d]) + static_cast<size_t>(index[d]);
    }
    out.replace(to, bytes, data, from * bytes, bytes);
    for (size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
  }
  return out;
}

HostTensor widened(const HostTensor& tensor) {
  HostTensor out{"float32", tensor.sizes, {}, tensor.device};
  const client::DtypeFacts& from = client::dtype_facts(tensor.dtype);
  const client::DtypeFacts& to = client::dtype_facts("float32");
  for (size_t i = 0; i < tensor.data.size() / from.bytes; ++i) {
    client::append_element(out.data, to, client::element_at(tensor, from, i));
  }
  return out;
}

}  // namespace

HostTensor read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  OPYARD_CHECK(file.is_open(), kNotFound, "cannot open ", path);
  const std::string header = read_header(path, file);
  HostTensor tensor;
  tensor.dtype = dtype_of(path, header);
  tensor.sizes = shape_of(path, header);
  const size_t bytes = client::dtype_facts(tensor.dtype).bytes;
  const size_t wanted = client::element_count(tensor.sizes) * bytes;
  // The size of the file, before anything as large as its header claims is allocated.
  const auto here = file.tellg();
  file.seekg(0, std::ios::end);
  const auto left = static_cast<size_t>(file.tellg() - here);
  file.seekg(here);
  if (left != wanted) {
    refuse(path,
           str_cat("the header announces ", wanted, " bytes of elements, the file has ", left));
  }
  tensor.data = read_bytes(path, file, wanted);
  if (field(path, header, "fortran_order").starts_with("True") && tensor.sizes.size() > 1) {
    tensor.data = from_fortran(tensor.data, tensor.sizes, bytes);
  }
  return tensor;
}

void write_npy(const std::string& path, const HostTensor& tensor) {
  if (tensor.dtype == "bfloat16") return write_npy(path, widened(tensor));
  std::string_view descr;
  for (const auto& [code, name] : kTypes) {
    if (name == tensor.dtype) descr = code;
  }
  OPYARD_CHECK(!descr.empty(), kInvalidArgument, "NumPy has no dtype for ", tensor.dtype);
  std::string shape;
  for (const int64_t size : tensor.sizes) shape += std::to_string(size) + ",";
  if (tensor.sizes.size() > 1) shape.pop_back();
  std::string header =
      str_cat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", shape, "), }");
  // The elements begin at a multiple of 64 bytes.
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  OPYARD_CHECK(file.is_open(), kNotFound, "cannot open ", path, " for writing");
  file << kMagic << '\x01' << '\0' << static_cast<char>(header.size() & 0xff)
       << static_cast<char>(header.size() >> 8) << header << tensor.data;
  file.close();
  OPYARD_CHECK(!file.fail(), kDataLoss, "could not write all of ", path);
}

}  // namespace opyard::cli
