// A library that a module brings along.
#ifdef LIBRARY_unique
__attribute__((visibility("default"))) inline int& counted_in_library() {
  static int count = ANSWER;
  return count;
}
extern "C" __attribute__((visibility("default"))) int library_answer() {
  return counted_in_library();
}
#else
extern "C" __attribute__((visibility("default"))) int library_answer() { return ANSWER; }
#endif
