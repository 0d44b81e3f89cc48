#pragma once

#include <string>
#include <vector>

#include "client/cpp/client.h"

namespace opyard::cli {

// "tensor([[11, 22],\n        [33, 44]], dtype=int64)": columns are aligned, of more than 1,000
// elements the first and last three of each dimension are shown.
std::string pretty(const client::HostTensor& tensor);
std::string pretty(const client::Value& value);
// Every result of a call, a paragraph each.
std::string pretty(const std::vector<client::Output>& outputs);

// {"results": [{"dtype": …, "shape": …, "device": …, "data": nested lists} | scalar …]}, all
// elements. NaN and infinities are NaN, Infinity and -Infinity, as Python's json reads and writes
// them; complex numbers are [re, im].
std::string results_json(const std::vector<client::Output>& outputs);

std::string quoted_json(const std::string& text);
std::string json_list(const std::vector<std::string>& texts);
// The shortest decimal text that reads back as the same element.
std::string real_text(double value, std::string_view dtype);

}  // namespace opyard::cli
