// The cost of device memory and copies through Troupe, beside CUDA called directly.

#include "gpu/raw/raw.hpp"
#include "random_numbers.hpp"
#include "side_by_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::int64_t mib = std::int64_t{1} << 20;

std::string size_of_bytes(std::int64_t bytes) {
  return bytes < mib ? fmt::format("{} B", bytes) : fmt::format("{} MiB", bytes / mib);
}

void measure_allocation(report& out, device gpu, std::int64_t bytes) {
  constexpr int loop = 200;  // one alone is shorter than reading the clock
  raw::stream stream;
  auto times = take_in_turn(
      {.blocks = 50, .warm_up = 10, .per_block = 100},
      [&] {
        for (int i = 0; i < loop; ++i)
          stream.allocate_and_free(static_cast<std::size_t>(bytes));
      },
      [&] {
        for (int i = 0; i < loop; ++i)
          gpu.tensor<std::uint8_t>({bytes}).value();
      });
  stream.synchronize();
  add_times(out, times,
            {.name = "tensor allocation + free, " + size_of_bytes(bytes),
             .reference = "cudaMallocAsync + cudaFreeAsync",
             .unit = "ns",
             .per_microsecond = 1e3 / loop,
             .median = ratio_at_most(0.3)});
}

/// Copies of one size, to the device and back.
class copies {
 public:
  copies(const device& gpu, std::int64_t bytes)
      : gpu_(gpu),
        bytes_(static_cast<std::size_t>(bytes)),
        name_(size_of_bytes(bytes)),
        data_(random_numbers<float>(bytes_ / sizeof(float))),
        device_(raw::memory::place::device, bytes_),
        pinned_(raw::memory::place::pinned, bytes_),
        there_(gpu_.tensor<float>({bytes / 4}).value()) {
    std::memcpy(pinned_.address(), data_.data(), bytes_);
  }

  void between_host_tensors(report& out) {
    auto from = gpu_.host_tensor<float>({there_.count()}).value();
    auto back = gpu_.host_tensor<float>({there_.count()}).value();
    std::ranges::copy(data_, from.elements().begin());
    std::ranges::fill(back.elements(), 0.0F);
    measure(
        out, "host_tensor", 0.97, [&] { gpu_.copy(from, there_).get(); },
        [&] { gpu_.copy(there_, back).get(); });
    expect_same(out, "host_tensor", back.elements());
  }

  void between_spans(report& out) {
    std::vector<float> back(data_.size());
    measure(
        out, "any std::span", 0.80, [&] { gpu_.copy(std::span(data_), there_).get(); },
        [&] { gpu_.copy(there_, std::span(back)).get(); });
    expect_same(out, "any std::span", back);
  }

  /// CUDA's own copies of memory that is not pinned.
  void of_cuda_between_spans(report& out) {
    std::vector<float> back(data_.size());
    side_by_side in;
    side_by_side out_again;
    for (int i = 0; i < 20; ++i) {
      in.raw.take(1, [&] { plain(device_.address(), pinned_.address()); });
      in.ours.take(1, [&] { plain(device_.address(), data_.data()); });
      out_again.raw.take(1, [&] { plain(pinned_.address(), device_.address()); });
      out_again.ours.take(1, [&] { plain(back.data(), device_.address()); });
    }
    const std::string name = "cudaMemcpyAsync of pageable memory, " + name_;
    add_rate(out, in, gigabytes(), {.name = name + ", in", .reference = pinned, .unit = "GB/s"});
    add_rate(out, out_again, gigabytes(),
             {.name = name + ", out", .reference = pinned, .unit = "GB/s"});
  }

 private:
  static constexpr const char* pinned = "pinned cudaMemcpyAsync";

  [[nodiscard]] double gigabytes() const { return static_cast<double>(bytes_) * 1e-9; }

  void plain(void* to, const void* from) {
    stream_.copy(to, from, bytes_);
    stream_.synchronize();
  }

  template <class In, class Out>
  void measure(report& out, const std::string& what, double at_least, In&& in, Out&& back) {
    // A copy of a span has most of the processors at work.
    const repetitions n{.blocks = 20, .warm_up = 1, .per_block = 5, .moves = false};
    auto to_device = take_in_turn(n, [&] { plain(device_.address(), pinned_.address()); }, in);
    auto to_host = take_in_turn(n, [&] { plain(pinned_.address(), device_.address()); }, back);
    add_rate(out, to_device, gigabytes(),
             {.name = what + " to the device, " + name_,
              .reference = pinned,
              .unit = "GB/s",
              .median = ratio_at_least(at_least)});
    add_rate(out, to_host, gigabytes(),
             {.name = "the device to " + what + ", " + name_,
              .reference = pinned,
              .unit = "GB/s",
              .median = ratio_at_least(at_least)});
  }

  void expect_same(report& out, const std::string& what, std::span<const float> back) const {
    const bool same = std::memcmp(data_.data(), back.data(), bytes_) == 0;
    out.add(
        {what + ", " + name_ + ", copies that differ", same ? 0.0 : 1.0, "", "", {}, at_most(0)});
  }

  device gpu_;
  std::size_t bytes_;
  std::string name_;
  std::vector<float> data_;
  raw::stream stream_;
  raw::memory device_;
  raw::memory pinned_;
  tensor<float> there_;
};

}  // namespace

int main() {
  report out("gpu_memory: device memory and copies through Troupe, beside CUDA called directly");
  section(out, "everything", [&] {
    fmt::print("{}\n", raw::open_device());
    troupe::system system;
    const device gpu = system.device(0, {.backend = backend_kind::cuda});
    wait_until_settled(gpu, true);
    for (const std::int64_t bytes : {std::int64_t{64}, mib, 64 * mib}) {
      section(out, "allocation of " + size_of_bytes(bytes),
              [&] { measure_allocation(out, gpu, bytes); });
    }
    for (const std::int64_t bytes : {16 * mib, 64 * mib, 256 * mib}) {
      section(out, "copies of " + size_of_bytes(bytes), [&] {
        copies both(gpu, bytes);
        section(out, "host tensors", [&] { both.between_host_tensors(out); });
        section(out, "spans", [&] { both.between_spans(out); });
        section(out, "spans by CUDA", [&] { both.of_cuda_between_spans(out); });
      });
    }
  });
  return out.finish();
}
