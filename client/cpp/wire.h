#pragma once

#include "client/cpp/transport.h"
#include "opyard/v1/control.pb.h"
#include "opyard/v1/ops.pb.h"
#include "opyard/v1/registry.pb.h"
#include "opyard/v1/tensors.pb.h"

// Between the messages of the wire and the client's own types. Replies come from a server that may
// be broken: sizes and codes are checked before use.

namespace opyard::client::wire {

void encode(const Value& value, v1::Value* out);
void encode(const Frame& frame, v1::OpFrame* out);
void encode(const ExplainQuestion& question, v1::ExplainRequest* out);

Value decode(const v1::Value& value);
TensorMeta decode(const v1::TensorMeta& meta);
Reply decode(v1::OpReply& reply);
ServerInfo decode(const v1::HandshakeReply& reply);
OpSchema decode(const v1::OpSchema& schema);
TrailStep decode(const v1::ExplainStep& step);
Trail decode(const v1::ExplainReply& reply);
Table decode(const v1::DumpTableReply& reply);
TraceBatch decode(const v1::TraceReply& reply);

}  // namespace opyard::client::wire
