#pragma once

namespace opyard::shape {

// The gate of the one compute pool. A region asks for threads before it forks and is admitted with
// as many as are free, so that all regions together use no more than the machine gives us. It
// never waits: a region that finds no free thread runs on its caller's alone. Any thread.
class ComputeAdmission {
 public:
  // `wanted` counts the calling thread.
  explicit ComputeAdmission(int wanted) noexcept;
  ~ComputeAdmission();
  ComputeAdmission(const ComputeAdmission&) = delete;
  ComputeAdmission& operator=(const ComputeAdmission&) = delete;

  int threads() const noexcept { return threads_; }

 private:
  int threads_;
};

// How many threads all regions together may use; at first as many as the process may run on.
int compute_threads() noexcept;
// The owner of the process knows better, a cgroup's limit for example. At least 1.
void set_compute_threads(int threads) noexcept;

}  // namespace opyard::shape
