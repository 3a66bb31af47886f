#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>

/// The use of the machine by this process and its workers, read from the system.
namespace troupe::bench {

/// Processor time of all threads of a process since its start; nothing once it is gone.
[[nodiscard]] std::optional<std::chrono::nanoseconds> processor_time(pid_t process);

/// Resident memory of this process, in KiB.
[[nodiscard]] double resident_kib();
/// The part of it that is shared memory, in KiB.
[[nodiscard]] double resident_shared_kib();
[[nodiscard]] std::size_t open_descriptors();
[[nodiscard]] std::size_t running_threads();
/// Processes that this one has started and that are still there, ended ones included.
[[nodiscard]] std::size_t child_processes();

/// Memory in use on all GPUs as nvidia-smi says, in MiB; nothing where it cannot be asked.
[[nodiscard]] std::optional<double> device_memory_mib();

}  // namespace troupe::bench
