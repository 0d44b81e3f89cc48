#pragma once

#include <string>
#include <vector>

#include "opyard/base/array_ref.h"
#include "opyard/core/dispatch_key_set.h"

namespace opyard {

// Names for people, in the keys' order: many keys of one family stand together where the first of
// them was, as "Autograd*" (all), "Sparse* (14 of 16)" or "backends (15 of 16)".
std::vector<std::string> folded_key_names(ArrayRef<DispatchKey> keys);

// The same in one line; "none" for the empty set.
std::string key_list_text(KeySet keys);

}  // namespace opyard
