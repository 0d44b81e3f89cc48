#pragma once

// Clang's thread-safety attributes (checked by the `clang` preset); nothing for other compilers.
#if defined(__clang__)
#define OPYARD_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define OPYARD_THREAD_ATTRIBUTE(x)
#endif

#define OPYARD_CAPABILITY(x) OPYARD_THREAD_ATTRIBUTE(capability(x))
#define OPYARD_SCOPED_CAPABILITY OPYARD_THREAD_ATTRIBUTE(scoped_lockable)
#define OPYARD_GUARDED_BY(x) OPYARD_THREAD_ATTRIBUTE(guarded_by(x))
#define OPYARD_REQUIRES(...) OPYARD_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define OPYARD_ACQUIRE(...) OPYARD_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define OPYARD_RELEASE(...) OPYARD_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define OPYARD_EXCLUDES(...) OPYARD_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

#include <mutex>

namespace opyard {

// std::mutex with the attributes that let clang check who holds it.
class OPYARD_CAPABILITY("mutex") Mutex {
 public:
  void lock() OPYARD_ACQUIRE() { mutex_.lock(); }
  void unlock() OPYARD_RELEASE() { mutex_.unlock(); }
  std::mutex& native() { return mutex_; }

 private:
  std::mutex mutex_;
};

class OPYARD_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) OPYARD_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() OPYARD_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace opyard
