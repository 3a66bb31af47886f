#pragma once

#include <sys/types.h>

#include <string>

namespace troupe::test {

/// Programs of their own that tests start: this executable with `TROUPE_TEST_PROGRAM` set. (A
/// forked child of a program with threads could not use devices.)
///   idle        makes a device, writes its two workers' pids to descriptor 4, and sleeps
///   condemned   exits with 0 if a hang in `isolation::thread` condemns its device
///   ends_…      exits with 0 if a system that is destroyed in one of its own threads ends
/// \returns the exit status, or -1 when this process is none of them
[[nodiscard]] int maybe_run_program();

/// Starts one with `descriptor_4` as its descriptor 4 (or none: -1); throws where it cannot.
[[nodiscard]] pid_t start_program(const std::string& name, int descriptor_4);

}  // namespace troupe::test
