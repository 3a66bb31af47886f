#pragma once

#include <troupe/device/device.hpp>
#include <troupe/plugin/executor.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

namespace troupe::test {

/// Has the worker run a command by `system`, and answers its status.
struct run_command {
  static constexpr std::string_view name = "process.run_command";
  using reply = std::int64_t;

  std::string command{};

  static void describe(description<run_command>& d) {
    d.about("Has the worker run a command by `system`, and answers its status.");
    d.value("command", &run_command::command, "command of a shell");
  }
};

/// The action of a forked process of the worker.
enum class deed : std::uint32_t {
  counts_mappings,  ///< those of Troupe's memory; their number is the answer
  aborts,           ///< the signal that it ended by is the answer
  stays,            ///< for ever; its pid is the answer
};

/// Has the worker fork.
struct fork_child {
  static constexpr std::string_view name = "process.fork_child";
  using reply = std::int64_t;

  deed what{};

  static void describe(description<fork_child>& d) {
    d.about("Has the worker fork.");
    d.value("what", &fork_child::what, "what the forked process does");
  }
};

void add_operations(operation_table& table);

/// The CPU backend, with this program as its worker.
[[nodiscard]] inline device_config with_operations() {
  device_config config{.backend = backend_kind::cpu, .own_operations = &add_operations};
  config.backoff.initial = std::chrono::milliseconds(1);
  return config;
}

/// Waits, with a bound, until `condition` holds; what it waits for has no event of its own.
template <class Condition>
[[nodiscard]] bool eventually(Condition&& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace troupe::test
