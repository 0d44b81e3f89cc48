#include "table.h"

namespace opyard::zoo {
namespace {

using enum Life;
constexpr Call kNumber{Call::What::kNumber};
constexpr Call kTensor{Call::What::kTensor};

constexpr Call number(Code code, std::string_view says) {
  return {Call::What::kNumber, code, says};
}
constexpr End zombie(std::string_view says) { return {State::kZombie, says}; }
constexpr Load refused(std::string_view says) { return {Code::kFailedPrecondition, says, false}; }
constexpr Load refused_by_probe(std::string_view says) {
  return {Code::kFailedPrecondition, says, true};
}

// What would keep it mapped, or would be called when it is gone.
const std::vector<Animal> kStay = {
    {.name = "good", .call = kNumber},
    {.name = "unique_symbols",
     .lint = {true, "defines 1 unique symbol"},
     .probe = {kStays, "unique symbol"},
     .call = kNumber,
     .end = zombie("unique symbol")},
    // The library has the symbol, too, and came first: such a plugin can go, as it happens.
    {.name = "make_shared", .lint = {true, "_Sp_make_shared_tag"}, .call = kNumber},
    {.name = "regex",
     .lint = {true, "unique symbol"},
     .probe = {kStays, "unique symbol"},
     .call = kNumber,
     .end = zombie("unique symbol")},
    {.name = "nodelete",
     .lint = {true, "DF_1_NODELETE"},
     .probe = {kStays, "DF_1_NODELETE"},
     .call = kNumber,
     .end = zombie("DF_1_NODELETE")},
    // Its own image goes; the library stays, and is named.
    {.name = "nodelete_dependency",
     .call = kNumber,
     .end = {State::kClosed, "pinned: libopyard_zoo_sticky.so.1"}},
    {.name = "thread_destructor",
     .lint = {true, "thread_local variables with destructors"},
     .call = kNumber,
     .end = zombie("thread_local variables with destructors")},
    {.name = "pthread_key",
     .lint = {true, "makes keys with pthread_key_create"},
     .probe = {kStays, "still has a destructor, which threads would call as they end"},
     .call = kNumber,
     .end = zombie("still has a destructor, which threads would call as they end")},
    {.name = "at_exit"},  // the loader runs it when the plugin goes
    {.name = "on_exit",
     .lint = {false, "on_exit"},
     .probe = {kFails, "on_exit"},
     .load = refused("on_exit")},
    {.name = "detached_thread",
     .lint = {true, "starts threads"},
     .probe = {kStays, "('lingers') still runs"},
     .end = zombie("('lingers') still runs; quiesce has to end it")},
    {.name = "std_thread",
     .lint = {true, "starts threads"},
     .probe = {kStays, "('never ends') still runs"},
     .end = zombie("('never ends') still runs; quiesce has to end it")},
    {.name = "signal_handler",
     .lint = {true, "calls signal, which change the whole process"},
     .probe = {kStays, "USR2"},
     .end = zombie("handler of the signal")},
    {.name = "terminate_handler", .probe = {kStays, "terminate"}, .end = zombie("terminate")},
    {.name = "openmp",
     .lint = {true, "pinned     libgomp.so.1"},
     .call = kNumber,
     .end = {State::kClosed, "pinned: libgomp.so.1"}},
};

// What hangs, crashes or leaves where no kernel is involved. In a process under traffic such a
// thing is let in only after a probe; what hangs in a function of its own thread holds nobody.
const std::vector<Animal> kLives = {
    {.name = "spin_in_constructor",
     .probe = {kHangs, "loading it"},
     .load = refused_by_probe("still loading it after")},
    {.name = "sleeping_in_constructor",
     .probe = {kHangs, "loading it"},
     .load = refused_by_probe("still loading it after")},
    {.name = "segv_in_constructor",
     .probe = {kFails, "died by SIGSEGV while loading it"},
     .load = refused_by_probe("died by SIGSEGV")},
    {.name = "abort_in_constructor",
     .probe = {kFails, "died by SIGABRT while loading it"},
     .load = refused_by_probe("died by SIGABRT")},
    {.name = "overflow_stack_in_constructor",
     .probe = {kFails, "died by SIGSEGV while loading it"},
     .load = refused_by_probe("died by SIGSEGV")},
    {.name = "leave_in_constructor",
     .lint = {true, "calls exit"},
     .probe = {kFails, "left the process with the status 3"},
     .load = refused_by_probe("left the process with the status 3")},
    {.name = "leave_at_once_in_constructor",
     .lint = {true, "calls _exit"},
     .probe = {kFails, "left the process with the status 0"},
     .load = refused_by_probe("left the process with the status 0")},
    {.name = "segv_in_init",
     .probe = {kFails, "died by SIGSEGV while loading it"},
     .load = refused_by_probe("died by SIGSEGV")},
    {.name = "abort_in_init",
     .probe = {kFails, "died by SIGABRT while loading it"},
     .load = refused_by_probe("died by SIGABRT")},
    {.name = "overflow_stack_in_init",
     .probe = {kFails, "died by SIGSEGV while loading it"},
     .load = refused_by_probe("died by SIGSEGV")},
    {.name = "leave_in_init",
     .lint = {true, "calls exit"},
     .probe = {kFails, "left the process with the status 3"},
     .load = refused_by_probe("left the process with the status 3")},
    {.name = "leave_at_once_in_init",
     .lint = {true, "calls _exit"},
     .probe = {kFails, "left the process with the status 0"},
     .load = refused_by_probe("left the process with the status 0")},
    {.name = "spin_in_init",
     .probe = {kHangs, "loading it"},
     .load = {Code::kDeadlineExceeded, "has not started within"},
     .end = zombie("has not returned")},
    {.name = "sleeping_in_init",
     .probe = {kHangs, "loading it"},
     .load = {Code::kDeadlineExceeded, "has not started within"},
     .end = zombie("has not returned")},
    {.name = "sleeping_in_activate",
     .probe = {kHangs, "loading it"},
     .load = {Code::kDeadlineExceeded, "has not started within"},
     .end = zombie("has not returned")},
    {.name = "segv_in_activate",
     .probe = {kFails, "died by SIGSEGV while loading it"},
     .load = refused_by_probe("died by SIGSEGV")},
    {.name = "sleeping_in_quiesce",
     .probe = {kHangs, "unloading it"},
     .end = zombie("its quiesce has not returned")},
    {.name = "sleeping_in_drain",
     .probe = {kHangs, "unloading it"},
     .end = zombie("its drain has not returned")},
    {.name = "sleeping_in_fini",
     .probe = {kHangs, "unloading it"},
     .end = zombie("its fini has not returned")},
    {.name = "sleeping_in_destructor",
     .probe = {kHangs, "unloading it"},
     .load = refused_by_probe("still unloading it after")},
    {.name = "segv_in_quiesce",
     .probe = {kFails, "died by SIGSEGV while unloading it"},
     .load = refused_by_probe("died by SIGSEGV")},
    {.name = "segv_in_drain",
     .probe = {kFails, "died by SIGSEGV while unloading it"},
     .load = refused_by_probe("died by SIGSEGV")},
    {.name = "segv_in_fini",
     .probe = {kFails, "died by SIGSEGV while unloading it"},
     .load = refused_by_probe("died by SIGSEGV")},
    {.name = "segv_in_destructor",
     .probe = {kFails, "died by SIGSEGV while unloading it"},
     .load = refused_by_probe("died by SIGSEGV")},
};

// Exceptions out of the C interface. Their types are the plugin's own, so they end at the boundary.
const std::vector<Animal> kThrows = {
    {.name = "throws_own_in_g", .call = number(Code::kInternal, "not a std::exception")},
    {.name = "throws_int_in_g", .call = number(Code::kInternal, "not a std::exception")},
    {.name = "throws_std_in_g", .call = number(Code::kInternal, "a standard reason")},
    {.name = "throws_derived_in_g", .call = number(Code::kInternal, "a reason of an own type")},
    {.name = "throws_own_in_init",
     .probe = {kFails, "not a std::exception"},
     .load = {Code::kInternal, "not a std::exception"}},
    {.name = "throws_int_in_init",
     .probe = {kFails, "not a std::exception"},
     .load = {Code::kInternal, "not a std::exception"}},
    {.name = "throws_std_in_init",
     .probe = {kFails, "a standard reason"},
     .load = {Code::kInternal, "a standard reason"}},
    {.name = "throws_derived_in_init",
     .probe = {kFails, "a reason of an own type"},
     .load = {Code::kInternal, "a reason of an own type"}},
    {.name = "throws_own_in_quiesce",
     .probe = {kStays, "not a std::exception"},
     .end = zombie("not a std::exception")},
    {.name = "throws_int_in_quiesce",
     .probe = {kStays, "not a std::exception"},
     .end = zombie("not a std::exception")},
    {.name = "throws_std_in_quiesce",
     .probe = {kStays, "a standard reason"},
     .end = zombie("a standard reason")},
    {.name = "throws_derived_in_quiesce",
     .probe = {kStays, "a reason of an own type"},
     .end = zombie("a reason of an own type")},
};

const std::vector<Animal> kLeave = {
    {.name = "leaves_descriptor",
     .probe = {kLeaves, "-> /dev/null"},
     .load = {.probed = true},
     .end = {State::kClosed, "warning: its probe left the descriptor"}},
    {.name = "leaves_key",
     .lint = {true, "makes keys with pthread_key_create"},
     .probe = {kLeaves, "1 thread-specific key"},
     .load = {.probed = true},
     .end = {State::kClosed, "warning: its probe left 1 thread-specific key"}},
    {.name = "leaves_failed_init",
     .probe = {kFails, "the device is asleep"},
     .load = {Code::kUnavailable, "the device is asleep", false, true}},
};

// What is wrong with the file, or with what it wants to define.
const std::vector<Animal> kFiles = {
    {.name = "table_no_entry",
     .lint = {false, "does not export the function"},
     .probe = {kFails, "does not export the function"},
     .load = refused("does not export the function")},
    {.name = "two_notes",
     .lint = {false, "more than one note"},
     .probe = {kFails, "more than one note"},
     .load = refused("more than one note")},
    {.name = "missing_symbol",
     .probe = {kFails, "undefined symbol: opyard_zoo_that_is_nowhere"},
     .load = refused("undefined symbol: opyard_zoo_that_is_nowhere")},
    {.name = "missing_library",
     .probe = {kFails, "libopyard_zoo_absent.so.1: cannot open shared object file"},
     .load = refused("libopyard_zoo_absent.so.1: cannot open shared object file")},
    // They say that they are larger than they are; what lies behind them must not be read.
    {.name = "lying_sizes"},
    {.name = "schema_twice", .probe = {kFails, "zoo::g"}, .load = {Code::kAlreadyExists, "zoo::g"}},
    {.name = "schema_broken",
     .probe = {kFails, "h(Tensor x, -> int"},
     .load = {Code::kInvalidArgument, "h(Tensor x, -> int"}},
    // Alone it is sound; here there is another's definition in other words.
    {.name = "schema_of_another", .load = {Code::kAlreadyExists, "neighbour::seven"}},
    {.name = "schema_changed",
     .load = refused("zoo::g: schema changed from (int n) -> int to (int n, int more=0) -> int. "
                     "Allow it with allow_schema_change")},
};

constexpr Animal throws(std::string_view animal, Code code, std::string_view says) {
  return {.name = animal, .call = number(code, says)};
}

// Exceptions in kernels of the C++ layers: the thunk keeps them in, the text stays when it has
// gone.
const std::vector<Animal> kLayers = {
    throws("typed_throws_own", Code::kInternal, "not a std::exception"),
    throws("typed_throws_int", Code::kInternal, "not a std::exception"),
    throws("typed_throws_std", Code::kInternal, "a standard reason"),
    throws("typed_throws_derived", Code::kInternal, "a reason of an own type"),
    throws("typed_throws_subclass", Code::kOutOfRange, "a reason with a code"),
    throws("typed_throws_error", Code::kOutOfRange, "a reason with a code"),
    throws("boxed_throws_own", Code::kInternal, "not a std::exception"),
    throws("boxed_throws_int", Code::kInternal, "not a std::exception"),
    throws("boxed_throws_std", Code::kInternal, "a standard reason"),
    throws("boxed_throws_derived", Code::kInternal, "a reason of an own type"),
    throws("boxed_throws_subclass", Code::kOutOfRange, "a reason with a code"),
    throws("boxed_throws_error", Code::kOutOfRange, "a reason with a code"),
    throws("stable_throws_own", Code::kInternal, "exception"),
    throws("stable_throws_int", Code::kInternal, "exception"),
    throws("stable_throws_std", Code::kInternal, "a standard reason"),
    throws("stable_throws_derived", Code::kInternal, "a reason of an own type"),
    throws("stable_throws_error", Code::kOutOfRange, "a reason with a code"),
};

// Kernels. What memory they spoil no host can see; `opyard plugin validate` does.
const std::vector<Animal> kKernels = {
    {.name = "no_result", .call = number(Code::kInternal, "")},
    {.name = "other_type", .call = number(Code::kInternal, "")},
    {.name = "garbage_tag", .call = number(Code::kInternal, "")},
    {.name = "garbage_code", .call = number(Code::kInternal, "code 24301")},
    {.name = "garbage_status", .call = number(Code::kNotFound, "")},
    {.name = "result_and_code",
     .call = {Call::What::kTensor, Code::kOutOfRange, "there is a result, but it is wrong"}},
    {.name = "spin_in_g", .call = {Call::What::kHangs}, .end = zombie("in zoo::g for")},
    {.name = "sleeping_in_g", .call = {Call::What::kHangs}, .end = zombie("in zoo::g for")},
    {.name = "deadlock", .call = {Call::What::kHangs}, .end = zombie("in zoo::g for")},
};

}  // namespace

// Every check passes for the good one, and does not for those that it is meant for.
const std::vector<Checked>& checked_animals() {
  static const std::vector<Checked> all = {
      {"lint", "good"},
      {"lint", "nodelete", "DF_1_NODELETE"},
      {"lint", "on_exit", "on_exit"},
      {"lifecycle", "good"},
      {"lifecycle", "segv_in_init", "it died by SIGSEGV while loading it"},
      {"lifecycle", "abort_in_constructor", "it died by SIGABRT while loading it"},
      {"lifecycle", "leave_at_once_in_init", "it left the process with the status 0"},
      {"lifecycle", "leaves_failed_init", "the device is asleep"},
      {"lifecycle", "detached_thread", "('lingers') still runs"},
      {"leftovers", "good"},
      {"leftovers", "leaves_descriptor", "-> /dev/null"},
      {"leftovers", "leaves_key", "1 thread-specific key"},
      {"cycles", "good"},
      {"cycles", "nodelete", "not unmapped in cycle 1"},
      {"cycles", "leaves_descriptor", "descriptors grew from"},
      {"cycles", "leaks_memory", "resident bytes grew from"},
      {"failures", "good"},
      {"failures", "trusts_alloc", "it died by SIGSEGV while init at a weak host"},
      {"failures", "trusts_extensions", "it died by SIGSEGV while init at a weak host"},
      {"failures", "trusts_tensors", "it died by SIGSEGV while calling aten::relu at CPU"},
      {"failures", "leaves_failed_init", "it left the descriptor"},
      {"operators", "good"},
      {"operators", "trusts_arguments", "it died by SIGSEGV while calling aten::relu at CPU with"},
      {"operators", "ignores_arguments", "took values of the wrong type and gave no error"},
      {"operators", "wrong_shape", "gave float32[5, 5] on cpu where"},
      {"operators", "wrong_dtype", "gave int16[4, 4] on cpu where"},
      {"operators", "undefined_result", "gave an undefined tensor where"},
      {"operators", "undefined_own",
       "zoo::f at CompositeImplicitAutograd: it gave an undefined tensor where its schema says "
       "Tensor"},
      {"operators", "undefined_operator",
       "none of its kernels could be called: nobody defines aten::relv (the nearest name is "
       "aten::relu)"},
      {"operators", "changes_inputs", "wrote to its argument 'self'"},
      {"operators", "gives_away_input", "let go of its argument 'self'"},
      {"operators", "writes_past_input", "it died by SIGSEGV while calling aten::relu at CPU"},
      {"operators", "writes_past_output", "while calling aten::relu at CPU"},
      {"operators", "frees_twice", "while calling zoo::g"},
      {"operators", "frees_wrongly", "while calling zoo::g"},
      {"operators", "segv_in_g", "it died by SIGSEGV while calling zoo::g"},
      {"operators", "abort_in_g", "it died by SIGABRT while calling zoo::g"},
      {"operators", "overflow_stack_in_g", "it died by SIGSEGV while calling zoo::g"},
      {"operators", "leave_in_g", "it left the process with the status 3 while calling zoo::g"},
      {"operators", "leave_at_once_in_g", "it left the process with the status 0 while calling"},
      {"unloading", "good"},
      {"unloading", "unique_symbols", "unique symbol"},
      {"unloading", "abort_in_g", "it died by SIGABRT while calling zoo::g"},
  };
  return all;
}

const std::vector<Animal>& animals() {
  static const std::vector<Animal> all = [] {
    std::vector<Animal> made;
    const std::vector<Animal> tables = table_animals();
    for (const auto* part :
         {&tables, &kFiles, &kLayers, &kStay, &kLives, &kThrows, &kLeave, &kKernels}) {
      made.insert(made.end(), part->begin(), part->end());
    }
    return made;
  }();
  return all;
}

}  // namespace opyard::zoo
