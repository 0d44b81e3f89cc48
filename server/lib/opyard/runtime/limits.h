#pragma once

#include <cstdint>

namespace opyard::runtime {

// What one request may ask for. One place: the checks, the handshake and the documentation of the
// wire read it.
struct Limits {
  uint64_t frame_bytes = 4u << 20;  // one encoded frame or reply
  uint64_t chunk_bytes = 1u << 20;  // data in one chunk of a bulk transfer
  uint32_t ops_per_frame = 1024;
  uint32_t dims = 64;
  uint32_t depth = 16;  // nesting of lists in a value
  uint32_t list_items = 65536;
  uint32_t string_bytes = 64u << 10;
  uint32_t op_name_bytes = 256;
  uint32_t interned_ops = 4096;            // op names in one stream's table
  uint32_t inline_value_bytes = 1u << 20;  // larger results are not sent inline
  uint32_t label_bytes = 128;
  uint32_t streams_per_session = 64;  // at once
  uint32_t traces_per_session = 4;    // followers of one session's calls
  uint32_t traces = 32;               // … and of all together: every call looks at each
  uint32_t trace_lines = 4096;        // that wait for one follower
  uint32_t queued_frames = 256;  // waiting frames of one session, over all its streams and calls
  uint32_t reorder_window =
      1024;  // how far unary calls may overtake each other (result ids of stream 0)
};

inline constexpr Limits kLimits;

// What a session pays for an id besides its storage, bound or poisoned: the most that a tensor of
// 64 dimensions or the first cause of a failure takes.
inline constexpr uint32_t kHandleBytes = 2048;
// … and for a name in a stream's table, besides its bytes.
inline constexpr uint32_t kNameBytes = 64;

// What is allowed to the sessions of one yard; set when the yard is made.
struct Quotas {
  uint64_t total_bytes = 0;    // all sessions together; 0: three quarters of the cgroup's memory
  uint64_t session_bytes = 0;  // one session; 0: total_bytes
  uint64_t session_handles = 1u << 20;
  uint32_t sessions = 1024;
  uint32_t lease_seconds = 60;  // default of a session
  uint32_t max_lease_seconds = 3600;
};

}  // namespace opyard::runtime
