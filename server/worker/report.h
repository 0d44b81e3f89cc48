#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace opyard::worker {

// The lines on descriptor 3 that whoever started the worker reads. Any thread, one line at a time.

// What begins now: named when this process does not end as it should.
void report_step(std::string_view what);
void report_progress(uint64_t done, uint64_t of);
// The last line.
void report_result(std::string_view json);

}  // namespace opyard::worker
