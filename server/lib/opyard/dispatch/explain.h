#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "opyard/dispatch/table.h"

namespace opyard {

// One kernel that a call passes through.
struct Hop {
  std::string op;
  DispatchKey key;
  std::string kernel;  // its label: by default the place; what a fallback or wrapper does
  std::string reason;  // provenance, as in dumps
  std::string plugin;  // empty where there is no kernel
  uint64_t generation = 0;
  std::string place;  // "registered at FILE:LINE"; empty for what the dispatcher made itself
};

// How one call is routed, in the order in which it is decided.
struct Explanation {
  std::string op;
  std::string schema;
  KeySet arguments;    // what the arguments bring
  KeySet included;     // what the thread adds
  KeySet excluded;     // what the thread takes away
  KeySet fallthrough;  // what the operator's masks take away
  KeySet keys;         // what is left: the call goes to the highest
  DispatchKey chosen = DispatchKey::Undefined;
  // The chosen kernel first; pass-down fallbacks and structured wrappers lead on to the next.
  std::vector<Hop> trail;
  // The last hop raises instead of computing.
  bool fails = false;
};

// Lines for a person; the same text from library, RPC, CLI and Python.
std::string to_string(const Explanation& explanation);

// One slot of a stored table.
struct TableRow {
  DispatchKey key;
  KernelKind kind;
  bool is_fallback;
  bool built_in;
  std::string kernel;  // label
  std::string reason;
  std::string plugin;
  uint64_t generation = 0;
  std::string place;
  bool raises = false;  // an ordinary kernel that only says what is wrong
};

}  // namespace opyard
