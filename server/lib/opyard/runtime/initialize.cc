#include "opyard/runtime/initialize.h"

#include <mutex>

#include "opyard/base/no_destructor.h"
#include "opyard/dispatch/generated.h"

OPYARD_BLOCKS_HERE()

namespace opyard {

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    Dispatcher& dispatcher = Dispatcher::global();
    // The library's own registrations stay for the life of the process.
    static NoDestructor<Registration> own(
        dispatcher.register_libraries(run_blocks(opyard_blocks_here())));
    const GeneratedOperators& generated = generated_operators();
    dispatcher.bind_handles({generated.handles, generated.num_handles});
    for (size_t i = 0; i < generated.num_groups; ++i) {
      const StructuredGroup& group = generated.groups[i];
      dispatcher.declare_structured(group.internal_op,
                                    ArrayRef<StructuredForm>(group.forms, group.num_forms));
    }
  });
}

}  // namespace opyard
