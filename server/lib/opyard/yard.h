#pragma once

// For embedders: opyard::Yard, the library started in this process.
#include "opyard/runtime/yard.h"
