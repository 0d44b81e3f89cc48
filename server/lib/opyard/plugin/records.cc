#include "opyard/plugin/records.h"

#include "opyard/base/check.h"

namespace opyard::plugin {
namespace {

constexpr uint32_t kLargestRecord = 4096;
constexpr uint64_t kMostRecords = uint64_t{1} << 15;
constexpr uint32_t kLongestText = uint32_t{1} << 16;

void check_text(opyard_str text, std::string_view what) {
  OPYARD_CHECK(text.data || text.size == 0, kInvalidArgument, what, " is a null pointer with ",
               text.size, " bytes");
  OPYARD_CHECK(text.size <= kLongestText, kInvalidArgument, what, " has ", text.size, " bytes; ",
               kLongestText, " are the most");
}

void check_texts(const opyard_registration& record) {
  check_text(record.file, "the file of a registration");
  check_text(record.text, "the text of a registration");
  check_text(record.key, "the key of a registration");
  check_text(record.schema, "the schema of a registration");
  check_text(record.debug, "the label of a registration");
  check_text(record.tags, "the tags of a registration");
}

}  // namespace

uint32_t checked_size(const void* record, uint32_t least, std::string_view what) {
  OPYARD_CHECK(record != nullptr, kInvalidArgument, what, ": there is only a null pointer");
  uint32_t size = 0;
  std::memcpy(&size, record, sizeof(size));
  OPYARD_CHECK(size >= least && size <= kLargestRecord && size % alignof(void*) == 0,
               kInvalidArgument, what, ": the struct_size is ", size, "; wanted is a multiple of ",
               alignof(void*), " from ", least, ", as in version 1.0, to ", kLargestRecord);
  return size;
}

uint32_t checked_step(const void* first, uint64_t count, uint64_t most, uint32_t least,
                      std::string_view what) {
  OPYARD_CHECK(count <= most, kInvalidArgument, "it gives ", count, " of ", what, "; ", most,
               " are the most");
  return checked_size(first, least, what);
}

void check_same_size(uint32_t size, uint32_t step, uint64_t index, std::string_view what) {
  OPYARD_CHECK(size == step, kInvalidArgument, "number ", index, " of ", what,
               " has the struct_size ", size, ", the first one has ", step,
               "; the records of one array have one size");
}

std::string take_text(opyard_str text, uint32_t most, std::string_view what) {
  check_text(text, what);
  OPYARD_CHECK(text.size <= most, kInvalidArgument, what, " has ", text.size, " bytes; ", most,
               " are the most");
  return text.size ? std::string(text.data, text.size) : std::string();
}

Records::Records(const opyard_block* first, uint64_t count)
    : blocks_(take_array(first, count, kMostRecords, OPYARD_BLOCK_SIZE_1_0, "the blocks")) {
  uint64_t total = 0;
  for (opyard_block& block : blocks_) {
    check_text(block.file, "the file of a block");
    check_text(block.name_space, "the namespace of a block");
    check_text(block.key, "the key of a block");
    auto& copies =
        registrations_.emplace_back(take_array(block.registrations, block.count, kMostRecords,
                                               OPYARD_REGISTRATION_SIZE_1_0, "the registrations"));
    total += copies.size();
    OPYARD_CHECK(total <= kMostRecords, kInvalidArgument, "it gives more than ", kMostRecords,
                 " registrations");
    for (const opyard_registration& record : copies) check_texts(record);
    block.registrations = copies.data();  // a vector's elements stay where they are when it moves
  }
}

}  // namespace opyard::plugin
