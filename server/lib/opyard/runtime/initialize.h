#pragma once

namespace opyard {

// Registers the library's own operators with Dispatcher::global(). Once per process; later calls do
// nothing. Constructing a Yard does it. Any thread.
void initialize();

}  // namespace opyard
