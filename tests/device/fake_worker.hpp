#pragma once

namespace troupe::test {

/// In a process started as a worker with `TROUPE_TEST_WORKER` set: misbehaves as it says and never
/// returns. In any other process it does nothing.
///   other_version   says hello as another version
///   makes_a_device  is a program that forgets `worker_entry`
///   or as one of `chaos::bad_start`, by its name
void maybe_misbehave(int argc, char** argv);

}  // namespace troupe::test
