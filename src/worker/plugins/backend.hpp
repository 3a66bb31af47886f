#pragma once

#include "worker/plugins/missing_library.hpp"

#include <troupe/base/result.hpp>
#include <troupe/plugin/accelerator.hpp>
#include <troupe/plugin/executor.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::worker {

/// A backend in this process.
struct loaded_backend {
  std::unique_ptr<troupe::accelerator> accelerator;  ///< null if the backend has none
  warm_up_lane* warm_up = nullptr;                   ///< its own; null if it has none
  std::vector<warm_up_lane*> library_warm_ups;       ///< of the libraries beside it
  std::vector<missing_library> missing;              ///< of those beside it
  std::string
      name;  ///< which part of a user's plugin it loads ("cuda"); empty for the plugin itself
};

/// Loads a backend plugin for the rest of the process's life, creates its accelerator if it has
/// one, and lists its operations: its own, and those of each plugin beside it that is named after
/// it and one of `libraries` (`libtroupe-cuda-blas.so` for "blas" beside `libtroupe-cuda.so`). If
/// one beside it cannot be loaded, that library is missing, and the others still work.
/// \errors `library_missing` with the path and the loader's message; those of the accelerator
[[nodiscard]] result<loaded_backend> load_backend(const std::string& plugin,
                                                  const accelerator_config& device,
                                                  std::string_view libraries,
                                                  operation_table& operations);

/// Keeps only the operations of `libraries` (names separated by spaces; empty keeps all), and those
/// of library `fault` only if faults may be injected; adds the worker's own operations unless the
/// backend has better ones.
[[nodiscard]] operation_table choose_operations(const operation_table& all,
                                                std::string_view libraries, bool fault_injection);

}  // namespace troupe::worker
