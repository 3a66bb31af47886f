#pragma once

#include <troupe/base/error.hpp>
#include <troupe/jit/compiler.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// The input of the compiler program and its result: one piece of shared memory holds first one and
/// then the other.
namespace troupe::jit {

/// With this argument, the compiler program reads a job from that descriptor.
inline constexpr const char* compiler_argument = "--compile";  ///< the program's number follows
inline constexpr int job_descriptor = 3;
/// Its exit status when it ran out of its memory limit; the system's numbers are different.
inline constexpr int out_of_memory_status = 40;

/// One compilation, or one linking if there are pieces.
struct job {
  std::string library{};  ///< the path of NVRTC or of nvJitLink
  std::uint64_t memory_bytes = 0;
  std::string text{};
  std::string name{};
  std::vector<header> headers{};
  std::vector<std::string> options{};  ///< all of them, the architecture too
  std::vector<std::string> names{};
  std::vector<binary> pieces{};
  bool stays = false;  ///< in the program's folder, because options may name files in it
  image_kind output = image_kind::cubin;

  [[nodiscard]] bool links() const noexcept { return !pieces.empty(); }
};

/// The outcome: an image, or a failure with the vendor's message.
struct job_result {
  std::optional<error> failure{};
  binary made{};
};

[[nodiscard]] std::vector<std::byte> encode(const job& what);
[[nodiscard]] std::optional<job> decode_job(std::span<const std::byte> bytes);
[[nodiscard]] std::vector<std::byte> encode(const job_result& what);
[[nodiscard]] std::optional<job_result> decode_result(std::span<const std::byte> bytes);

/// A binary alone, for the cache on disk.
[[nodiscard]] std::vector<std::byte> encode(const binary& what);
[[nodiscard]] std::optional<binary> decode_binary(std::span<const std::byte> bytes);

}  // namespace troupe::jit
