#pragma once

#include "backend/cuda/program/nvml.hpp"

#include <troupe/fault/inject.hpp>

#include <sys/types.h>

#include <memory>
#include <optional>

namespace troupe::bench::raw {

/// The times of one fault with CUDA alone, in milliseconds.
struct fault_cost {
  double told = 0;  ///< from the launch until `cudaStreamQuery` says so in the process that faulted
  double pause = 0;             ///< the longest that another process's kernel took meanwhile
  std::optional<double> event;  ///< from the launch until NVML tells of an Xid event, if it does
};

/// Processes whose kernels fault, beside one that launches kernels all the time.
class faulting_processes {
 public:
  /// Forks: to be made while this process has no thread and has not used CUDA.
  faulting_processes();
  ~faulting_processes();
  faulting_processes(const faulting_processes&) = delete;
  faulting_processes& operator=(const faulting_processes&) = delete;

  /// One fault of a new process: a kernel's that ends its context. Throws where that process, or
  /// the one beside it, did not get that far.
  [[nodiscard]] fault_cost fault(troupe::fault::kind what);

 private:
  struct shared;
  struct unmap {
    void operator()(shared* held) const noexcept;
  };
  static void bystand(shared& s);
  static void raise_children(shared& s);
  [[noreturn]] static void fault_once(shared& s);

  std::unique_ptr<shared, unmap> shared_;
  std::unique_ptr<cuda::nvml_device> management_;  // may be null
  pid_t bystander_ = -1;
  pid_t nursery_ = -1;
};

}  // namespace troupe::bench::raw
