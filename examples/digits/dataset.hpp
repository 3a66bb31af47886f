#pragma once

#include <troupe/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace digits {

/// Pixels of one image, 8×8.
inline constexpr std::size_t pixels = 64;

/// Labelled images, one after another. Pixels are integers from 0 to 16, so sums of their products
/// are exact in f32.
struct dataset {
  std::vector<float> images;
  std::vector<int> labels;

  [[nodiscard]] std::size_t size() const noexcept { return labels.size(); }
  [[nodiscard]] std::span<const float> image(std::size_t i) const {
    return std::span(images).subspan(i * pixels, pixels);
  }
  void add(std::span<const float> image, int label);
};

/// Reads the compressed file: 64 pixels and the label per line.
[[nodiscard]] troupe::result<dataset> read_dataset(const std::string& path);

/// Images, and where each is held out: `training[part[i]]` has every image whose part is another.
struct held_out_split {
  std::vector<dataset> training;
  std::vector<std::size_t> part;
};

/// Cuts the images into `parts` by a seeded shuffle. Each is then classified against a training
/// set that it is not in.
[[nodiscard]] held_out_split split(const dataset& all, std::size_t parts, std::uint32_t seed);

}  // namespace digits
