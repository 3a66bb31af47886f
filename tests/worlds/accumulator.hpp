#pragma once

#include <troupe/collective.hpp>
#include <troupe/device/mapped_tensor.hpp>
#include <troupe/device/world.hpp>
#include <troupe/fault.hpp>
#include <troupe/memory.hpp>
#include <troupe/troupe.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::worlds {

/// Devices of the CPU backend; of the plugin that `TROUPE_TEST_PLUGIN` names; or GPUs, if
/// `TROUPE_BACKEND` is cuda.
inline device_config small(bool standby = false) {
  device_config made{.memory_limit_bytes = std::uint64_t{64} << 20,
                     .standby = standby,
                     .lane_threads = 1,
                     .fault_injection = true};
  const char* const backend = std::getenv("TROUPE_BACKEND");     // NOLINT(concurrency-mt-unsafe)
  const char* const plugin = std::getenv("TROUPE_TEST_PLUGIN");  // NOLINT(concurrency-mt-unsafe)
  if (plugin != nullptr) {
    made.backend_path = plugin;
  } else if (backend != nullptr && std::string_view(backend) == "cuda") {
    made.backend = backend_kind::cuda;
  } else {
    made.backend = backend_kind::cpu;
  }
  // Slabs are larger than tensors.
  if (made.backend != backend_kind::cpu) made.memory_limit_bytes = std::uint64_t{1} << 30;
  return made;
}

// A GPU's memory is mapped in a program with a context of its own, which these tests have not.
inline constexpr std::string_view no_mapping =
    "a program without a context maps no memory of a GPU";
[[nodiscard]] inline bool on_gpus() { return small().backend == backend_kind::cuda; }

/// A device of the same backend whose workers are threads.
inline device in_threads(system& s, std::int32_t ordinal) {
  device_config made = small();
  made.isolation = isolation::thread;
  if (on_gpus()) made.gpu = gpu_choice::number(0);
  return s.device(ordinal, made);
}

/// GPUs 0, 1 and so on, and from 0 again if there are too few.
inline std::vector<device> devices_of(system& s, int count, const device_config& config = small()) {
  std::vector<device> all;
  int gpus = 0;
  for (int i = 0; i < count; ++i) {
    try {
      all.push_back(s.device(i, config));
      ++gpus;
    } catch (const failure& none) {
      if (none.code() != errc::device_unavailable || gpus == 0) throw;
      device_config shared = config;
      shared.gpu = gpu_choice::number(i % gpus);
      all.push_back(s.device(i, shared));
    }
  }
  return all;
}

/// Integers that each sum multiplies by the number of ranks, modulo 2⁶⁴: a sum that is lost, run
/// twice or wrong shows in all later ones.
class accumulator {
 public:
  accumulator(world& w, std::int64_t count)
      : w_(w),
        one_(w.tensors<std::uint64_t>({count}).value()),
        other_(w.tensors<std::uint64_t>({count}).value()) {
    std::vector<std::uint64_t> first(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < first.size(); ++i)
      first[i] = i + 1;
    for (std::size_t rank = 0; rank < w.size(); ++rank)
      EXPECT_TRUE(w.rank(rank).copy(first, one_[rank]).get_result());
  }
  future<void> in_place() {
    factor_ *= w_.size();
    return w_.ask(collective::all_reduce{.x = one_, .y = one_});
  }
  future<void> over() {
    factor_ *= w_.size();
    auto done = w_.ask(collective::all_reduce{.x = one_, .y = other_});
    std::swap(one_, other_);
    return done;
  }
  /// Without an answer.
  void send_over() {
    factor_ *= w_.size();
    EXPECT_TRUE(w_.tell(collective::all_reduce{.x = one_, .y = other_}));
    std::swap(one_, other_);
  }
  [[nodiscard]] bool is_right() {
    std::vector<std::uint64_t> got(static_cast<std::size_t>(one_[0].count()));
    for (std::size_t rank = 0; rank < w_.size(); ++rank) {
      const auto copied = w_.rank(rank).copy(one_[rank], got).get_result();
      EXPECT_TRUE(copied) << copied.error().to_string();
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (got[i] != factor_ * (i + 1)) return false;
      }
    }
    return true;
  }
  [[nodiscard]] const per_rank<std::uint64_t>& tensors() const noexcept { return one_; }

 private:
  world& w_;
  per_rank<std::uint64_t> one_;
  per_rank<std::uint64_t> other_;
  std::uint64_t factor_ = 1;
};

/// Waits until a condition holds, for ten seconds at most.
template <class Condition>
[[nodiscard]] bool comes_true(Condition holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace troupe::worlds
