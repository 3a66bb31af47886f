#pragma once

#include <troupe/jit/compiler.hpp>

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::testing_jit {

/// A folder of a test's own, gone with it.
class cache_folder {
 public:
  cache_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "troupe_jit_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~cache_folder() {
    std::error_code failed;
    std::filesystem::remove_all(path_, failed);
  }
  cache_folder(const cache_folder&) = delete;
  cache_folder& operator=(const cache_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline jit::source templated_source() {
  return {.text = R"(
template <class T> __global__ void add(const T* a, const T* b, T* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
namespace inner {
template <class T, int N> __global__ void scaled(T* x) { x[threadIdx.x] *= N; }
})",
          .names = {"add<float>", "&inner::scaled<double, 3>"},
          .architecture = "sm_90a"};
}

/// A compiler with a cache of its own; skips where there is no NVRTC.
class compiler_test : public testing::Test {
 protected:
  void SetUp() override {
    made_.emplace(config());
    // Without an image: a compilation of nothing.
    auto probe = made_->compile({.text = "", .architecture = "sm_90"}).get_result();
    if (!probe && probe.error().code == errc::library_missing) {
      GTEST_SKIP() << probe.error().message;
    }
    ASSERT_TRUE(probe) << probe.error().to_string();
    folder_.emplace();
    made_.emplace(config());
  }

  [[nodiscard]] jit::compiler_config config() const {
    return {.cache_folder = (folder_->path() / "kernels").string()};
  }
  [[nodiscard]] future<jit::binary> compile(jit::source what) {
    return made_->compile(std::move(what));
  }
  [[nodiscard]] future<jit::binary> link(jit::linkage what) { return made_->link(std::move(what)); }
  [[nodiscard]] jit::compiler_statistics statistics() const { return made_->statistics(); }

  [[nodiscard]] std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> all;
    for (const auto& one : std::filesystem::directory_iterator(folder_->path() / "kernels"))
      all.push_back(one.path());
    return all;
  }

 private:
  std::optional<cache_folder> folder_{std::in_place};
  std::optional<jit::compiler> made_;
};

}  // namespace troupe::testing_jit
