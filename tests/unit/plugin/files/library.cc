// A library that a module brings along.
extern "C" __attribute__((visibility("default"))) int library_answer() { return ANSWER; }
