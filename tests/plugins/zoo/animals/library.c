/* A library that an animal needs. */
__attribute__((visibility("default"))) int library_answer(void);
int library_answer(void) { return ANSWER; }
