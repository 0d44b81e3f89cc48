# Which animals there are. Their verdicts stand in table.cc.
zoo_animal(good)
zoo_animal(good_2 WHICH 2)
zoo_module(neighbour animals/neighbour.c)

# Section "stays": what would keep it mapped, or be called afterwards.
foreach(name thread_destructor pthread_key at_exit on_exit detached_thread std_thread signal_handler terminate_handler)
  zoo_animal(${name} animals/stays.cc DEFINE STAYS_${name})
endforeach()
zoo_animal(unique_symbols animals/stays.cc DEFINE STAYS_unique_symbols LOOSE)
zoo_animal(make_shared animals/stays.cc DEFINE STAYS_make_shared LOOSE)
zoo_animal(regex animals/stays.cc DEFINE STAYS_regex LOOSE)
zoo_animal(nodelete LINK -Wl,-z,nodelete)
zoo_library(zoo_sticky_library libopyard_zoo_sticky.so.1 elsewhere 31 -Wl,-z,nodelete)
zoo_animal(nodelete_dependency animals/stays.cc DEFINE STAYS_library LIBS zoo_sticky_library)
set_target_properties(zoo_nodelete_dependency PROPERTIES INSTALL_RPATH "${zoo_dir}/elsewhere")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  zoo_animal(openmp animals/stays.cc DEFINE STAYS_openmp OPTIONS -fopenmp LINK -fopenmp)
endif()

# Where it hangs, crashes or leaves.
foreach(where constructor init g)
  foreach(act spin sleeping segv abort overflow_stack leave leave_at_once)
    zoo_animal(${act}_in_${where} animals/life.c DEFINE WHERE_${where} ACT=${act} OPTIONS -Wno-infinite-recursion)
  endforeach()
endforeach()
foreach(where activate quiesce drain fini destructor)
  foreach(act sleeping segv)
    zoo_animal(${act}_in_${where} animals/life.c DEFINE WHERE_${where} ACT=${act} OPTIONS -Wno-infinite-recursion)
  endforeach()
endforeach()

foreach(where init quiesce g)
  foreach(what own std int derived)
    zoo_animal(throws_${what}_in_${where} animals/throws.cc DEFINE WHERE_${where} THROWS=throw_${what})
  endforeach()
endforeach()

# Where it trusts what may be null, or nobody but itself.
foreach(name alloc extensions tensors arguments)
  zoo_animal(trusts_${name} animals/trusts.c DEFINE TRUSTS_${name})
endforeach()
zoo_animal(ignores_arguments animals/kernels.c DEFINE KERNEL_ignores_arguments)
zoo_animal(leaks_memory animals/leaves.c DEFINE LEAVES_memory)

foreach(name descriptor key failed_init)
  zoo_animal(leaves_${name} animals/leaves.c DEFINE LEAVES_${name})
endforeach()

foreach(name no_result other_type garbage_tag garbage_code garbage_status result_and_code deadlock frees_twice
    frees_wrongly wrong_shape wrong_dtype undefined_result undefined_own changes_inputs writes_past_output
    writes_past_input gives_away_input)
  zoo_animal(${name} animals/kernels.c DEFINE KERNEL_${name})
endforeach()

# Tables and records: see tables.cc.
foreach(name refuses newer_abi older_abi no_table small_table long_name other_name other_version other_fingerprint
    init_fails activate_fails other_build small_extension null_function null_array small_block huge_block odd_block
    mixed_blocks small_record null_records many_records null_text bad_block block_kind record_kind typed_unflagged
    null_tags tagged_kernel no_entry)
  zoo_module(table_${name} "${PROJECT_SOURCE_DIR}/tests/unit/plugin/bad_plugin.cc"
    DEFINE BAD_${name}=1 BAD="${name}" BAD_NAME="zoo"
    OPTIONS -Wno-unused-function)
endforeach()
zoo_module(lying_sizes animals/lies.c)
zoo_module(undefined_operator animals/undefined.c)

# What is wrong with the file.
zoo_animal(missing_symbol animals/missing.c)
zoo_animal(two_notes animals/second_note.c)
zoo_library(zoo_absent_library libopyard_zoo_absent.so.1 elsewhere 33)
zoo_animal(missing_library animals/stays.cc DEFINE STAYS_library LIBS zoo_absent_library)
# One plugin with a library of its own, in two versions whose libraries have one SONAME.
set(answer_a 11)
set(answer_b 12)
foreach(folder a b)
  zoo_library(zoo_private_library_${folder} libopyard_zoo_private.so.1 ${folder} ${answer_${folder}})
  zoo_animal(private_${folder} animals/stays.cc DEFINE STAYS_library LIBS zoo_private_library_${folder}
    FOLDER ${folder})
endforeach()

foreach(name of_another twice broken changed)
  zoo_animal(schema_${name} animals/schemas.c DEFINE SCHEMA_${name})
endforeach()

# The C++ layers.
foreach(what own std int derived error subclass)
  zoo_module(typed_throws_${what} animals/throws_cxx.cc DEFINE THROWS=throw_${what} LIBS opyard)
  zoo_module(boxed_throws_${what} animals/throws_cxx.cc DEFINE THROWS=throw_${what} ZOO_BOXED LIBS opyard)
  foreach(form typed boxed)
    target_include_directories(zoo_${form}_throws_${what} PRIVATE ${OPYARD_INCLUDE_ROOTS})
  endforeach()
endforeach()
foreach(what own std int derived error)
  zoo_module(stable_throws_${what} animals/throws_cxx.cc DEFINE THROWS=throw_${what} ZOO_STABLE)
endforeach()
