#pragma once

#include "dataset.hpp"
#include "ledger.hpp"

#include <troupe/troupe.hpp>

#include <array>
#include <chrono>
#include <span>
#include <vector>

namespace digits {

/// Training images on the device, frozen: no fault can change them.
struct training_set {
  troupe::tensor<float> images;      ///< [count, pixels]
  std::vector<float> squared_norms;  ///< |t|² of each
  std::vector<int> labels;

  [[nodiscard]] std::size_t size() const noexcept { return labels.size(); }
};

/// Uploads and freezes the images; waits until they are there.
[[nodiscard]] troupe::result<training_set> upload(troupe::device& device, const dataset& images);

/// The label of the nearest training image, by squared distance |x|² - 2 x·t + |t|²; |x|² is the
/// same for all and left out. `products` are the x·t. The first of equals wins.
[[nodiscard]] int nearest_label(std::span<const float> products,
                                std::span<const float> squared_norms, std::span<const int> labels);

/// The answer that the host itself works out, to hold the device's against. `images` are those
/// that `training` was made of.
[[nodiscard]] int classify_on_host(const training_set& training, const dataset& images,
                                   std::span<const float> image);

/// One classification at a time: a copy to the device, one gemm, a copy back. All three are sent at
/// once; the device orders them by their reads and writes. Do not move it while busy: the copies
/// use
/// its memory.
class classification {
 public:
  classification(const classification&) = delete;
  classification& operator=(const classification&) = delete;

  /// Allocates for training sets of up to `most` images. Throws `troupe::failure`.
  classification(troupe::device& device, ledger& requests, std::size_t most);
  ~classification() = default;

  [[nodiscard]] bool busy() const noexcept { return training_ != nullptr; }
  [[nodiscard]] std::size_t image() const noexcept { return image_; }
  [[nodiscard]] std::chrono::steady_clock::time_point started() const noexcept { return started_; }

  /// Asks for the classification of image number `image` of `all`. Precondition: not busy.
  void start(const dataset& all, std::size_t image, const training_set& training);

  /// Waits for it: the digit, or the first error. Precondition: busy.
  [[nodiscard]] troupe::result<int> finish();

 private:
  troupe::device& device_;
  ledger& requests_;
  troupe::tensor<float> query_;
  troupe::tensor<float> products_;  ///< as many as the largest training set has images
  std::vector<float> products_here_;
  std::array<troupe::future<void>, 3> asked_;
  const training_set* training_ = nullptr;
  std::size_t image_ = 0;
  std::chrono::steady_clock::time_point started_{};
};

}  // namespace digits
