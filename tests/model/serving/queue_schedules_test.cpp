#include "model/schedules.hpp"
#include "queue_schedule.hpp"

#include <gtest/gtest.h>

namespace troupe::model {

// Each item ends once; what has expired is not launched; sequences keep their order; no level
// starves; only culprits fail; credits are given back; each batch closes for the reason that it
// names.
TEST(BatchQueue, KeepsItsPromisesUnderRandomSchedules) {
  run_schedules(300,
                [](std::uint64_t seed, bool print) { return queue_schedule(seed, print).run(); });
}

}  // namespace troupe::model
