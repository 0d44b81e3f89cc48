#include "opyard/dispatch/library.h"

#include <typeinfo>
#include <utility>

#include "opyard/dispatch/registry.h"

namespace opyard {

void detail::raise_as_error() {
  try {
    throw;
  } catch (const Error& error) {
    if (typeid(error) == typeid(Error)) throw;
    throw Error(error);  // without what a class of the plugin's has added
  } catch (...) {
    throw Error(current_error());
  }
}

namespace {

opyard_str as_str(std::string_view text) {
  return {text.data(), static_cast<uint32_t>(text.size()), 0};
}

// A device's key, or a name that means nothing yet: that of a device whose plugin is being read.
bool is_of_plugin_device(std::string_view key) {
  if (key.empty()) return false;
  const auto known = try_parse_dispatch_key(key);
  const Backend backend = known ? backend_of(*known) : Backend::kPrivateUse1;
  return backend != Backend::kNone && backend != Backend::kCPU && backend != Backend::kMeta;
}

}  // namespace

struct Library::State {
  std::deque<std::string> texts;  // deque: addresses stay
  std::deque<SignatureInfo> signatures;
  std::vector<opyard_registration> registrations;
  opyard_block block{};
  size_t definition = 0;  // the last one's place

  opyard_str keep(std::string_view text) { return as_str(texts.emplace_back(text)); }
};

Library::Library(BlockKind kind, std::string_view name_space, std::string_view key,
                 const char* file, unsigned line)
    : state_(new State) {
  opyard_block& block = state_->block;
  block.struct_size = sizeof(opyard_block);
  block.kind = static_cast<uint32_t>(kind);
  block.file = state_->keep(file);
  block.line = line;
  block.name_space = state_->keep(name_space);
  block.key = state_->keep(key);
}
Library::~Library() { delete state_; }
Library::Library(Library&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

const opyard_block& Library::block() const {
  state_->block.registrations = state_->registrations.data();
  state_->block.count = state_->registrations.size();
  return state_->block;
}

Library::KernelRecord Library::record_of(PassDown) {
  return {.boxed = &pass_down_boxed, .flags = OPYARD_CXX_KERNEL | OPYARD_PASS_DOWN};
}

void Library::begin_def(const Placed& schema) {
  state_->definition = state_->registrations.size();
  opyard_registration& added = state_->registrations.emplace_back();
  added.struct_size = sizeof(opyard_registration);
  added.kind = OPYARD_REGISTER_DEF;
  added.file = state_->keep(schema.file);
  added.line = schema.line;
  added.text = state_->keep(schema.text);
  if (schema.text.find('(') == std::string_view::npos) added.flags |= OPYARD_SCHEMA_INFERRED;
}

void Library::add_to_def(const Placed&, const Tags& tags) {
  opyard_registration& definition = state_->registrations[state_->definition];
  std::string text(definition.tags.data, definition.tags.size);
  for (const std::string_view name : tags.names) text.append(name) += ',';
  definition.tags = state_->keep(text);
}

void Library::add_to_def(const Placed&, AliasAnalysis kind) {
  state_->registrations[state_->definition].alias_analysis = static_cast<uint32_t>(kind);
}

void Library::add_def_kernel(const Placed& schema, const KernelRecord& kernel) {
  opyard_registration& definition = state_->registrations[state_->definition];
  if ((definition.flags & OPYARD_SCHEMA_INFERRED) && kernel.signature.schema) {
    definition.schema = state_->keep(to_string(kernel.signature.schema()));
  }
  add_impl(schema.text.substr(0, schema.text.find('(')), {}, kernel, schema.file, schema.line);
}

void Library::add_impl(std::string_view op, std::string_view key, const KernelRecord& kernel,
                       const char* file, unsigned line, uint32_t flags) {
  opyard_registration& added = state_->registrations.emplace_back();
  added.struct_size = sizeof(opyard_registration);
  added.kind = OPYARD_REGISTER_IMPL;
  added.flags = kernel.flags | flags;
  added.file = state_->keep(file);
  added.line = line;
  added.text = state_->keep(op);
  added.key = state_->keep(key);
  const opyard_str& where = added.key.size > 0 ? added.key : state_->block.key;
  const bool checks = kernel.checked && is_of_plugin_device({where.data, where.size});
  added.typed = checks ? kernel.checked : kernel.typed;
  added.cxx_boxed = reinterpret_cast<const void*>(kernel.boxed);
  added.self = kernel.self;
  if (kernel.signature.schema) {
    added.signature = &state_->signatures.emplace_back(kernel.signature);
    added.schema = state_->keep(to_string(kernel.signature.schema()));
  }
}

void Library::add_fallback(const KernelRecord& kernel, const char* file, unsigned line) {
  add_impl("", {}, kernel, file, line);
  state_->registrations.back().kind = OPYARD_REGISTER_FALLBACK;
}

Library& Library::label(std::string_view label) {
  if (!state_->registrations.empty()) state_->registrations.back().debug = state_->keep(label);
  return *this;
}

std::vector<Library> run_blocks(LibraryRange range) {
  std::vector<Library> libraries;
  for (const LibraryRecord* record = range.begin; record != range.end; ++record) {
    if (!record->fill) continue;
    Library& library =
        libraries.emplace_back(static_cast<BlockKind>(record->kind), record->name_space,
                               record->key, record->file, record->line);
    record->fill(library);
  }
  return libraries;
}

}  // namespace opyard
