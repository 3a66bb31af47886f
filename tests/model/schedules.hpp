#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace troupe::model {

/// Runs one schedule after the other. Which ones:
///
///   TROUPE_SEED=n         that one alone, and prints its trace
///   TROUPE_SCHEDULES=n    so many
///   TROUPE_FIRST_SEED=n   from there on; 1 otherwise
///
/// `run` gets a seed and whether to print, and returns what is wrong, nothing where nothing is. A
/// test fails at the first seed of which something is wrong, and says how to see it again.
void run_schedules(std::int64_t usual_count,
                   const std::function<std::string(std::uint64_t seed, bool print)>& run);

}  // namespace troupe::model
