#pragma once

#include "conformance/runner.hpp"

#include <troupe/jit/compiler.hpp>
#include <troupe/jit/kernel.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The first line of tests of kernels.
#define TROUPE_NEEDS_A_GPU(stage) \
  if (const std::string why = (stage).why_not(); !why.empty()) GTEST_SKIP() << why

namespace troupe::conformance {

/// The device of the runner that this program is linked with, and a compiler; where requests go to
/// executors directly, a device of the CPU backend beside them.
class jit_stage {
 public:
  jit_stage();
  ~jit_stage();
  jit_stage(const jit_stage&) = delete;
  jit_stage& operator=(const jit_stage&) = delete;

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
  /// A kernel of bytes that look like an image, for code that does not look closer.
  [[nodiscard]] jit::kernel unread_kernel();

  /// A device tensor among guards that no kernel may write; the stage looks at them when it ends.
  template <element T>
  [[nodiscard]] tensor<T> room(std::int64_t count) {
    constexpr std::int64_t guard = 256 / sizeof(T);
    const auto whole = gpu().tensor<T>({count + 2 * guard}).value();
    run().use(whole);
    std::vector<T> poisoned(static_cast<std::size_t>(whole.count()));
    std::memset(poisoned.data(), 0xFB, poisoned.size() * sizeof(T));
    gpu().copy(std::span(poisoned), whole).get();
    guards_.emplace_back([this, whole, poisoned] {
      const std::vector<T> now = content(whole);
      for (const std::size_t first : {std::size_t{0}, now.size() - guard}) {
        EXPECT_EQ(std::memcmp(&now[first], &poisoned[first], guard * sizeof(T)), 0)
            << "a kernel wrote outside of its operand";
      }
    });
    return whole.slice(0, guard, guard + count).value();
  }
  /// One with these elements.
  template <element T>
  [[nodiscard]] tensor<T> filled(const std::vector<T>& with) {
    auto made = room<T>(static_cast<std::int64_t>(with.size()));
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
  std::vector<std::function<void()>> guards_;
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
