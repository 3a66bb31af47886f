// The gain of products with 2:4 weights over dense products of the same weights, both through
// Troupe and each with the kernel that was measured to be the fastest.

#include "fresh_contexts.hpp"
#include "random_numbers.hpp"
#include "side_by_side.hpp"

#include <troupe/blaslt/matmul.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/sparse/structured.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct extents {
  std::int64_t m, n, k;
};

/// d = x · wᵀ, as a linear layer has it: x and d row-major, the weights with k contiguous.
template <class T>
class layer {
 public:
  layer(const device& gpu, const extents& size)
      : gpu_(gpu),
        size_(size),
        x_(gpu_.tensor<T>({size.m, size.k}).value()),
        weights_(gpu_.tensor<T>({size.n, size.k}).value()),
        compressed_(gpu_.tensor<std::uint8_t>({sparse::structured_bytes(size.n, size.k, sizeof(T))})
                        .value()),
        dense_(gpu_.tensor<bf16>({size.m, size.n}).value()),
        d_(gpu_.tensor<bf16>({size.m, size.n}).value()) {
    fill(x_, size.m * size.k);
    fill(weights_, size.n * size.k);
    const library_actor lane = gpu_.library("sparse");
    lane.ask(sparse::structured_prune{.x = weights_, .y = weights_}).get();
    compress();
  }

  void compress() const {
    gpu_.library("sparse")
        .ask(sparse::structured_compress{.x = weights_, .compressed = compressed_})
        .get();
  }
  [[nodiscard]] blaslt::matmul dense() const {
    return {.a = x_, .b = weights_.transpose(), .d = dense_, .tuning = blaslt::tuning::timed};
  }
  [[nodiscard]] sparse::structured_matmul sparse() const {
    return {.a = x_, .b = weights_.transpose(), .compressed = compressed_, .d = d_};
  }
  /// The largest difference of the two results, as a part of the largest element.
  [[nodiscard]] double difference() {
    std::vector<bf16> one(static_cast<std::size_t>(size_.m * size_.n));
    std::vector<bf16> other(one.size());
    gpu_.copy(dense_, std::span(one)).get();
    gpu_.copy(d_, std::span(other)).get();
    double largest = 0;
    double apart = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      const auto x = static_cast<double>(static_cast<float>(one[i]));
      const auto y = static_cast<double>(static_cast<float>(other[i]));
      if (!std::isfinite(x) || !std::isfinite(y)) return INFINITY;
      largest = std::max(largest, std::abs(x));
      apart = std::max(apart, std::abs(x - y));
    }
    return apart / largest;
  }

 private:
  void fill(tensor<T>& to, std::int64_t elements) {
    const std::vector<T> data = random_numbers<T>(static_cast<std::size_t>(elements));
    gpu_.copy(std::span(data), to).get();
  }

  device gpu_;
  extents size_;
  tensor<T> x_;
  tensor<T> weights_;
  tensor<std::uint8_t> compressed_;
  tensor<bf16> dense_;
  tensor<bf16> d_;
};

template <class T>
void measure(report& out, const device& gpu, const std::string& type, const extents& size,
             std::optional<target> wanted) {
  layer<T> of(gpu, size);
  const library_actor dense = gpu.library("blaslt");
  const library_actor sparse = gpu.library("sparse");
  const double work =
      2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) * static_cast<double>(size.k);
  const auto loop = static_cast<std::size_t>(std::clamp(4e12 / work, 4.0, 256.0));
  const auto run = [&](const library_actor& lane, const auto& request) {
    for (std::size_t i = 0; i < loop; ++i)
      lane.tell(request).value();
    lane.ask(troupe::lane::marker{}).get();
  };
  auto times = take_in_turn(
      {.blocks = 30, .warm_up = 1, .per_block = 4}, [&] { run(dense, of.dense()); },
      [&] { run(sparse, of.sparse()); });
  const std::string what = fmt::format("2:4 product {} {}x{}x{}", type, size.m, size.n, size.k);
  add_rate(
      out, times, work * static_cast<double>(loop) * 1e-12,
      {.name = what, .reference = "dense, blaslt.matmul", .unit = "TFLOP/s", .median = wanted});
  out.add({what + ", largest relative difference", of.difference(), "", "", {}, at_most(1e-2)});
  samples compressing;
  for (int i = 0; i < 20; ++i)
    of.compress();
  compressing.take(40, [&] { of.compress(); });
  out.add({fmt::format("structured_compress {} {}x{}", type, size.n, size.k), compressing.median(),
           "us"});
}

}  // namespace

int main() {
  report out("gpu_sparse_structured: products with 2:4 weights, beside dense ones");
  // Measures without the choices that an earlier run has stored.
  std::string folder = (std::filesystem::temp_directory_path() / "troupe-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) != nullptr) {
    ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  in_fresh_contexts(1, [&](const device& gpu) {
    const auto at_least_as_wanted = ratio_at_least(1.4);
    section(out, "bf16 4096",
            [&] { measure<bf16>(out, gpu, "bf16", {4096, 4096, 4096}, at_least_as_wanted); });
    section(out, "bf16 8192", [&] { measure<bf16>(out, gpu, "bf16", {8192, 8192, 8192}, {}); });
    section(out, "bf16 layer", [&] { measure<bf16>(out, gpu, "bf16", {2048, 11008, 4096}, {}); });
    section(out, "e4m3 4096", [&] { measure<e4m3>(out, gpu, "e4m3", {4096, 4096, 4096}, {}); });
  });
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return out.finish();
}
