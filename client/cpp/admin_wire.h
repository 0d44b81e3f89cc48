#pragma once

#include "client/cpp/admin.h"
#include "opyard/v1/plugins.pb.h"

// Between the messages of Plugins and the client's own types.

namespace opyard::client::wire {

void encode(const PluginChangeOptions& options, v1::ChangeOptions* out);

PluginList decode(const v1::ListPluginsReply& reply);
PluginChange decode(const v1::ChangePluginReply& reply);
std::vector<PluginDifference> decode(const v1::DiffPluginReply& reply);

}  // namespace opyard::client::wire
