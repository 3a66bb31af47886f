#pragma once

#include <troupe/core/result.hpp>
#include <troupe/worker/executor.hpp>

#include <string>
#include <string_view>

namespace troupe::worker {

/// Loads a backend plugin for the rest of the process's life and lists its operations.
/// \errors `library_missing` with the path and the loader's own words.
[[nodiscard]] result<void> load_backend(const std::string& plugin, operation_table& operations);

/// Keeps only the operations of `libraries` (names separated by spaces; empty keeps all), and those
/// of library `fault` where faults may be injected and nowhere else; adds those that the worker
/// itself brings and a backend does not better.
[[nodiscard]] operation_table choose_operations(const operation_table& all,
                                                std::string_view libraries, bool fault_injection);

}  // namespace troupe::worker
