#include "tests/plugins/torture/builds.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include "opyard/base/check.h"

namespace opyard::torture {
namespace {

std::atomic<uint64_t> last_number{0};

}  // namespace

Builds::Builds(const std::string& file, std::string folder, std::string prefix)
    : folder_(std::move(folder)), prefix_(std::move(prefix)) {
  std::ifstream in(file, std::ios::binary);
  bytes_.assign(std::istreambuf_iterator<char>(in), {});
  const std::string_view mark(TORTURE_MARK, sizeof(torture_stamp::mark));
  stamp_at_ = bytes_.find(mark);
  OPYARD_CHECK(stamp_at_ != std::string::npos, kInvalidArgument, "'", file, "' has no stamp");
  OPYARD_CHECK(bytes_.find(mark, stamp_at_ + 1) == std::string::npos, kInvalidArgument, "'", file,
               "' has several stamps");
}

Builds::Build Builds::make(torture_fault fault, uint32_t slow_ms) const {
  torture_stamp stamp{TORTURE_MARK, ++last_number, static_cast<uint32_t>(fault), slow_ms};
  std::string bytes = bytes_;
  std::memcpy(bytes.data() + stamp_at_, &stamp, sizeof(stamp));
  Build build{stamp.number, str_cat(folder_, "/", prefix_, stamp.number, ".so")};
  std::ofstream out(build.file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  OPYARD_CHECK(out.good(), kResourceExhausted, "cannot write '", build.file, "'");
  return build;
}

}  // namespace opyard::torture
