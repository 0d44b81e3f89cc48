// A library that a module brings along.
#ifdef LIBRARY_unique
// Unique symbols are the process's: each library has one of its own name.
template <int N>
__attribute__((visibility("default"))) int& counted() {
  static int count = N;
  return count;
}
extern "C" __attribute__((visibility("default"))) int library_answer() { return counted<ANSWER>(); }
#else
extern "C" __attribute__((visibility("default"))) int library_answer() { return ANSWER; }
#endif
