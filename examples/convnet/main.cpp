// Trains a convolutional network on handwritten digits, twice: once undisturbed, and once with a
// worker that is killed in the middle of an epoch. The program holds the parameters, and every
// request only overwrites, so the loss curve goes on to the bit.
//
//   example_convnet FILE

#include "digits/dataset.hpp"
#include "network.hpp"

#include <troupe/troupe.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace {

using convnet::batch;
using convnet::classes;
using convnet::side;

constexpr int epochs = 6;
constexpr std::int64_t steps = 15;  // steps in an epoch
constexpr std::int64_t trained = steps * batch;
constexpr double learning_rate = 0.05;
constexpr int disturbed_epoch = 2;

/// Images and labels on the device, all that divide into batches.
struct examples {
  troupe::any_tensor images;   ///< [count, 1, side, side]
  troupe::any_tensor targets;  ///< [count]

  examples(troupe::device& device, const digits::dataset& from, std::int64_t count)
      : images(device.tensor<float>({count, 1, side, side}).value()),
        targets(device.tensor<std::int32_t>({count}).value()) {
    std::vector<float> pixels(from.images);
    pixels.resize(static_cast<std::size_t>(count * side * side));
    for (float& one : pixels)
      one = one / 8 - 1;
    std::vector<std::int32_t> labels(from.labels.begin(), from.labels.end());
    labels.resize(static_cast<std::size_t>(count));
    device.copy(std::span(std::as_const(pixels)), images).get();
    device.copy(std::span(std::as_const(labels)), targets).get();
  }
  [[nodiscard]] troupe::any_tensor image_batch(std::int64_t i) const {
    return images.slice(0, i * batch, (i + 1) * batch).value();
  }
  [[nodiscard]] troupe::any_tensor target_batch(std::int64_t i) const {
    return targets.slice(0, i * batch, (i + 1) * batch).value();
  }
};

struct outcome {
  std::vector<float> losses;  ///< for every image of every step
  double accuracy = 0;

  [[nodiscard]] double mean_loss(int epoch) const {
    const auto first = losses.begin() + epoch * trained;
    return std::accumulate(first, first + trained, 0.0) / trained;
  }
};

double accuracy(troupe::device& device, convnet::network& net, const examples& tested,
                std::span<const int> labels) {
  std::size_t right = 0;
  std::vector<float> logits(static_cast<std::size_t>(batch * classes));
  for (std::size_t first = 0; first < labels.size(); first += batch) {
    net.forward(tested.image_batch(static_cast<std::int64_t>(first) / batch));
    net.wait();
    device.copy(net.logits(), std::span(logits)).get();
    for (std::size_t i = first; i < std::min(labels.size(), first + batch); ++i) {
      const auto row = std::span(logits).subspan((i - first) * classes, classes);
      if (std::ranges::max_element(row) - row.begin() == labels[i]) ++right;
    }
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

outcome train(troupe::device& device, const digits::dataset& all, bool with_kill) {
  digits::dataset tested;
  for (std::size_t i = trained; i < all.size(); ++i)
    tested.add(all.image(i), all.labels[i]);
  const examples train_set(device, all, trained);
  const auto tests = static_cast<std::int64_t>(tested.size() + batch - 1) / batch * batch;
  const examples test_set(device, tested, tests);
  auto losses = device.tensor<float>({epochs * steps, batch}).value();

  convnet::network net(device);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (std::int64_t i = 0; i < steps; ++i) {
      const troupe::any_tensor images = train_set.image_batch(i);
      const troupe::any_tensor targets = train_set.target_batch(i);
      const std::int64_t row = epoch * steps + i;
      net.forward(images);
      net.loss(targets, losses.slice(0, row, row + 1).value().reshape({batch}).value());
      net.backward(images, targets);
      net.step(learning_rate);
      // Earlier requests run, or wait for their turn.
      if (with_kill && epoch == disturbed_epoch && i == steps / 2) {
        if (const auto worker = device.worker_pid()) kill(*worker, SIGKILL);
      }
    }
    net.wait();
  }
  outcome made;
  made.losses.resize(static_cast<std::size_t>(losses.count()));
  device.copy(losses, std::span(made.losses)).get();
  made.accuracy = accuracy(device, net, test_set, tested.labels);
  return made;
}

int run(const char* file) {
  const digits::dataset all = digits::read_dataset(file).value();
  troupe::system system;
  troupe::device device = system.device(0);
  const auto begin = std::chrono::steady_clock::now();
  const outcome undisturbed = train(device, all, false);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const std::uint64_t before = device.generation();
  const outcome disturbed = train(device, all, true);
  const std::uint64_t workers_lost = device.generation() - before;

  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::cout << "epoch " << epoch + 1 << ": loss " << undisturbed.mean_loss(epoch);
    if (epoch == disturbed_epoch)
      std::cout << ", with a killed worker " << disturbed.mean_loss(epoch);
    std::cout << '\n';
  }
  const bool same = undisturbed.losses == disturbed.losses;
  std::cout << "right about " << 100 * disturbed.accuracy << " % of images it has not seen, after "
            << took.count() << " s\n"
            << workers_lost << " worker lost, all " << undisturbed.losses.size() << " losses "
            << (same ? "the same to the bit\n" : "are NOT the same\n");
  return same && workers_lost == 1 && disturbed.accuracy > 0.9 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: example_convnet FILE\n";
    return 2;
  }
  return run(argv[1]);
} catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
