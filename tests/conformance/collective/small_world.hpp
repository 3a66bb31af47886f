#pragma once

#include "conformance/coverage.hpp"
#include "conformance/runner.hpp"

#include <troupe/collective.hpp>
#include <troupe/device/world.hpp>
#include <troupe/troupe.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace troupe::conformance {

using raw = std::vector<std::byte>;

inline raw part_of(const raw& all, std::size_t first, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

/// A world with elements of any type. If the program's device is a GPU, so is the only rank of a
/// world. With TROUPE_TEST_GPU_WORLDS all ranks are: GPU 0, 1 and so on, and from 0 again if there
/// are too few. Else their workers are of the CPU backend. With TROUPE_TEST_APART no rank reads the
/// memory of another one. `algorithm` prescribes that of all_reduce, see wire/world_algorithms.hpp.
class small_world {
 public:
  explicit small_world(std::size_t ranks, std::int64_t staging_bytes = 16 << 10,
                       const std::string& algorithm = {})
      : devices_(made(ranks, algorithm)),
        all(system_.world(devices_, {.staging_bytes = staging_bytes})) {}

  /// Tensors of random bytes; bool and floats get small numbers.
  std::vector<any_tensor> random(dtype type, const shape& extents) {
    std::vector<any_tensor> made = all.allocate(type, extents).value();
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const std::vector<std::byte> bytes = random_bytes(type, made[rank].count());
      EXPECT_TRUE(all.rank(rank).copy_in(type, bytes, made[rank]).get_result());
    }
    return made;
  }
  std::vector<std::byte> bytes_of(const std::vector<any_tensor>& of, std::size_t k) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(of[k].count() * size_of(of[k].type())));
    const auto copied = all.rank(k % all.size()).copy_out(of[k], of[k].type(), bytes).get_result();
    EXPECT_TRUE(copied) << copied.error().to_string();
    return bytes;
  }
  template <class R>
  void run(const R& r, dtype type) {
    const auto outcome = all.ask(r).get_result();
    EXPECT_TRUE(outcome) << outcome.error().to_string();
    cover(R::name, type);
    cover_layout(R::name, true);
  }
  /// It is refused with this code and a message that has these words, and nothing has happened.
  template <class R>
  void refuse(const R& r, errc code, std::string_view words) {
    const auto before = all.health().operations;
    const auto outcome = all.ask(r).get_result();
    ASSERT_FALSE(outcome) << words;
    EXPECT_EQ(outcome.error().code, code) << outcome.error().to_string();
    EXPECT_NE(outcome.error().message.find(words), std::string::npos) << outcome.error().message;
    EXPECT_EQ(all.health().operations, before);
  }
  [[nodiscard]] system& of() noexcept { return system_; }

 private:
  std::vector<device> made(std::size_t ranks, const std::string& algorithm) {
    const auto usual = make_runner();
    const device* const its = usual->its_device();
    const bool on_gpus = its != nullptr && its->description().architecture.starts_with("sm_") &&
                         (ranks == 1 || std::getenv("TROUPE_TEST_GPU_WORLDS") != nullptr);
    const bool peer_access = std::getenv("TROUPE_TEST_APART") == nullptr;
    const auto environment = std::make_shared<std::vector<std::string>>();
    for (char** one = environ; *one != nullptr; ++one)
      environment->emplace_back(*one);
    if (!algorithm.empty()) environment->push_back("TROUPE_COLLECTIVE_ALGORITHM=" + algorithm);
    std::vector<device> devices;
    std::int32_t gpus = 0;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(ranks); ++i) {
      if (!on_gpus) {
        devices.push_back(system_.device(i, {.backend = backend_kind::cpu,
                                             .memory_limit_bytes = std::uint64_t{64} << 20,
                                             .peer_access = peer_access,
                                             .standby = false,
                                             .lane_threads = 1,
                                             .worker_environment = environment}));
        continue;
      }
      const device_config config{.backend = backend_kind::cuda,
                                 .memory_limit_bytes = std::uint64_t{1} << 30,
                                 .peer_access = peer_access,
                                 .standby = false,
                                 .worker_environment = environment};
      try {
        devices.push_back(system_.device(i, config));
        ++gpus;
      } catch (const failure& none) {
        if (none.code() != errc::device_unavailable || gpus == 0) throw;
        device_config shared = config;
        shared.gpu = gpu_choice::number(i % gpus);
        devices.push_back(system_.device(i, shared));
      }
    }
    return devices;
  }
  std::vector<std::byte> random_bytes(dtype type, std::int64_t count) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count * size_of(type)));
    const auto fill = [&]<class T>(T, auto next) {
      for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
        const T value = next();
        std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
      }
    };
    const auto real = [&] { return static_cast<float>(random_() % 1024) / 64.0F - 8.0F; };
    switch (type) {
      case dtype::f64:
      case dtype::c128:
        fill(double{}, [&] { return static_cast<double>(real()) / 3.0; });
        break;
      case dtype::f32:
      case dtype::c64:
        fill(float{}, [&] { return real() / 3.0F; });
        break;
      case dtype::f16:
        fill(f16{}, [&] { return f16(real()); });
        break;
      case dtype::bf16:
        fill(bf16{}, [&] { return bf16(real()); });
        break;
      case dtype::e4m3:
        fill(e4m3{}, [&] { return e4m3(real()); });
        break;
      case dtype::e5m2:
        fill(e5m2{}, [&] { return e5m2(real()); });
        break;
      case dtype::boolean:
        fill(std::uint8_t{}, [&] { return static_cast<std::uint8_t>(random_() % 2); });
        break;
      default:
        fill(std::uint8_t{}, [&] { return static_cast<std::uint8_t>(random_()); });
        break;
    }
    return bytes;
  }

  system system_;
  std::vector<device> devices_;
  std::mt19937_64 random_{20261127};

 public:
  world all;
};

}  // namespace troupe::conformance
