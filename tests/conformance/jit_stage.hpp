#pragma once

#include "runner.hpp"

#include <troupe/ops/jit/compiler.hpp>
#include <troupe/ops/jit/kernel.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What tests of kernels begin with.
#define TROUPE_NEEDS_A_GPU(stage) \
  if (const std::string why = (stage).why_not(); !why.empty()) GTEST_SKIP() << why

namespace troupe::conformance {

/// The device of the runner that this program is linked with, and a compiler; where requests go to
/// executors directly, a device of the CPU backend beside them.
class jit_stage {
 public:
  jit_stage();

  /// Why no kernel can be run here; "" where one can.
  [[nodiscard]] std::string why_not();
  [[nodiscard]] device& gpu() { return *gpu_; }
  [[nodiscard]] runner& run() { return *runner_; }
  /// In another process than this one, so that it can be lost.
  [[nodiscard]] bool has_worker_process() const { return gpu_->worker_pid().has_value(); }

  /// The image of a source for this GPU, or for an H100 where there is none.
  [[nodiscard]] result<jit::binary> compile(std::string_view text, std::vector<std::string> names,
                                            jit::image_kind output = jit::image_kind::cubin);
  /// A kernel of a source, by name or expression. \throws failure where that cannot be had
  [[nodiscard]] jit::kernel kernel(std::string_view text, const std::string& name);
  /// A kernel of bytes that look like an image, for where nobody looks closer.
  [[nodiscard]] jit::kernel unread_kernel();

  /// A device tensor with these elements.
  template <element T>
  [[nodiscard]] tensor<T> filled(const std::vector<T>& with) {
    auto made = gpu().tensor<T>({static_cast<std::int64_t>(with.size())}).value();
    gpu().copy(std::span(with), made).get();
    return made;
  }
  template <element T>
  [[nodiscard]] std::vector<T> content(const tensor<T>& t) {
    std::vector<T> made(static_cast<std::size_t>(t.count()));
    gpu().copy(t, std::span(made)).get();
    return made;
  }

 private:
  std::unique_ptr<runner> runner_;
  std::optional<system> system_;
  std::optional<device> gpu_;
  jit::compiler compiler_{{.disk_cache = false}};
};

/// The sources of the tests' kernels, and the names that they are compiled with. `needs_toolkit`
/// where they include its headers.
namespace jit_kernels {
extern const std::string_view arithmetic;    // add<T>, shift<T>
extern const std::string_view structs;       // apply
extern const std::string_view shared;        // reversed
extern const std::string_view clusters;      // ranks
extern const std::string_view cooperative;   // total
extern const std::string_view programmatic;  // slow_first, second, second_without_a_word
extern const std::string_view tiles;         // copy_tile
extern const std::string_view faults;        // wild_write
}  // namespace jit_kernels

}  // namespace troupe::conformance
