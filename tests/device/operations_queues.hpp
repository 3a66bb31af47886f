#pragma once

#include <troupe/plugin/worker_entry.hpp>

#include <string>

namespace troupe::test {

/// The plugin of the queues that the tests run on, where TROUPE_TEST_PLUGIN names one: what they
/// show of GPUs they then show on machines without one.
[[nodiscard]] std::string queues_plugin();

/// The tests' own operations, enqueued.
void add_queue_operations(operation_table& table);

}  // namespace troupe::test
