#pragma once

#include <string>

#include "client/cpp/value.h"

namespace opyard::cli {

// NumPy's file format, versions 1 to 3 (NEP 1): reading takes little-endian arrays of plain numbers
// in C or Fortran order; everything in the file is checked before it is used, and nothing is
// unpickled. Raises INVALID_ARGUMENT for a file that is not like that, NOT_FOUND when it cannot be
// opened.
client::HostTensor read_npy(const std::string& path);

// Writes version 1.0. bfloat16 has no name in NumPy: it is written as float32.
void write_npy(const std::string& path, const client::HostTensor& tensor);

}  // namespace opyard::cli
