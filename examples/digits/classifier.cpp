#include "classifier.hpp"

#include <troupe/blas.hpp>

#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace digits {
namespace {

std::int64_t extent(std::size_t n) { return static_cast<std::int64_t>(n); }

float product(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0f);
}

std::vector<float> squared_norms_of(const dataset& images) {
  std::vector<float> norms(images.size());
  for (std::size_t i = 0; i < norms.size(); ++i)
    norms[i] = product(images.image(i), images.image(i));
  return norms;
}

}  // namespace

troupe::result<training_set> upload(troupe::device& device, const dataset& images) {
  auto there = device.tensor<float>({extent(images.size()), extent(pixels)});
  if (!there) return std::move(there).error();
  if (auto copied = device.copy(std::span(images.images), *there).get_result(); !copied) {
    return std::move(copied).error();
  }
  if (auto frozen = device.freeze(*there).get_result(); !frozen) return std::move(frozen).error();
  return training_set{.images = *std::move(there),
                      .squared_norms = squared_norms_of(images),
                      .labels = images.labels};
}

int nearest_label(std::span<const float> products, std::span<const float> squared_norms,
                  std::span<const int> labels) {
  std::size_t nearest = 0;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float distance = squared_norms[i] - 2 * products[i];
    if (distance < least) {
      least = distance;
      nearest = i;
    }
  }
  return labels[nearest];
}

int classify_on_host(const training_set& training, const dataset& images,
                     std::span<const float> image) {
  std::vector<float> products(images.size());
  for (std::size_t i = 0; i < products.size(); ++i)
    products[i] = product(image, images.image(i));
  return nearest_label(products, training.squared_norms, training.labels);
}

classification::classification(troupe::device& device, ledger& requests, std::size_t most)
    : device_(device),
      requests_(requests),
      query_(device.tensor<float>({1, extent(pixels)}).value()),
      products_(device.tensor<float>({extent(most)}).value()),
      products_here_(most) {}

void classification::start(const dataset& all, std::size_t image, const training_set& training) {
  image_ = image;
  training_ = &training;
  started_ = std::chrono::steady_clock::now();
  const std::int64_t count = extent(training.size());
  const troupe::tensor<float> products =
      products_.slice(0, 0, count).value().reshape({1, count}).value();
  requests_.sent(asked_.size());
  asked_[0] = device_.copy(all.image(image), query_);
  asked_[1] = device_.ask(
      troupe::blas::gemm{
          .a = query_, .b = training.images.transpose(), .c = products, .alpha = 1.f, .beta = 0.f},
      {.run_limit = timeout});
  asked_[2] = device_.copy(products, std::span(products_here_).first(training.size()));
}

troupe::result<int> classification::finish() {
  const training_set& training = *std::exchange(training_, nullptr);
  troupe::result<void> outcome;
  for (troupe::future<void>& asked : asked_) {
    troupe::result<void> one = requests_.settle("classification", std::move(asked));
    if (outcome && !one) outcome = std::move(one);
  }
  if (!outcome) return std::move(outcome).error();
  return nearest_label(std::span(products_here_).first(training.size()), training.squared_norms,
                       training.labels);
}

}  // namespace digits
