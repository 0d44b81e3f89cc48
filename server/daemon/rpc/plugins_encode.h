#pragma once

#include "opyard/plugin/host.h"
#include "opyard/runtime/call_counts.h"
#include "opyard/v1/plugins.pb.h"

namespace opyard::daemon {

void encode_slot(const plugin::SlotInfo& slot, bool with_kernels, v1::PluginSlot* out);
void encode_report(const plugin::ChangeReport& report, v1::ChangePluginReply* out);
void encode_difference(const plugin::Difference& difference, v1::PluginDifference* out);
void encode_totals(const runtime::CallTotals& totals, v1::CallTotals* out);

// INVALID_ARGUMENT: an unknown tensor policy, or a time of more than a day.
plugin::ChangeOptions decode_options(const v1::ChangeOptions& options);

}  // namespace opyard::daemon
