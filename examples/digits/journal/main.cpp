// Classifies digits with an operation of its own, and keeps a journal of what it has asked. The
// operation's fast kernel, DIGITS_KERNEL=fast, has a mistake; `troupe replay` finds it:
//
//   DIGITS_KERNEL=fast digits_journal examples/data/digits.csv.gz lib/plugins/libdistances.so RUN
//   troupe replay RUN --plugin lib/plugins/libdistances.so --environment DIGITS_KERNEL=fast
//     --against cpu --stop-at-difference

#include "../dataset.hpp"
#include "distances.hpp"

#include <troupe/primitives.hpp>
#include <troupe/telemetry/request_journal.hpp>
#include <troupe/troupe.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>

namespace digits {
namespace {

// Not a multiple of what the fast kernel takes at once.
constexpr std::size_t training = 1500;
constexpr std::size_t asked = 100;

int run(const std::string& data, const std::string& plugin, const std::string& path) {
  const dataset all = read_dataset(data).value();
  // region: record
  troupe::device_config config;
  config.plugins.push_back(plugin);
  config.journal = troupe::request_journal::open(path).value();
  troupe::system system;
  troupe::device gpu = system.device(0, config);
  // endregion: record

  const auto count = static_cast<std::int64_t>(training);
  const auto width = static_cast<std::int64_t>(pixels);
  const auto images = gpu.tensor<float>({count, width}).value();
  const auto image = gpu.tensor<float>({width}).value();
  const auto away = gpu.tensor<float>({count}).value();
  const auto least = gpu.tensor<float>({1}).value();
  const auto nearest = gpu.tensor<std::int64_t>({1}).value();
  gpu.copy(std::span(all.images).first(training * pixels), images).get();

  std::size_t right = 0;
  for (std::size_t i = training; i < training + asked; ++i) {
    std::array<std::int64_t, 1> found{};
    // region: classify
    auto sent = gpu.copy(all.image(i), image);
    gpu.tell(distances{.images = images, .image = image, .to = away}).value();
    gpu.tell(troupe::primitives::top_k{
                 .x = away, .values = least, .indices = nearest, .smallest = true})
        .value();
    auto back = gpu.copy(nearest, std::span(found));
    // endregion: classify
    sent.get();
    back.get();
    const int label = all.labels[static_cast<std::size_t>(found[0])];
    right += label == all.labels[i] ? 1U : 0U;
    if (label != all.labels[i]) {
      std::cout << "image " << i << " shows " << all.labels[i] << ", and is taken for " << label
                << '\n';
    }
  }
  std::cout << right << " of " << asked << " digits are right\n";
  return 0;
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: digits_journal DIGITS PLUGIN JOURNAL\n";
    return 2;
  }
  return digits::run(argv[1], argv[2], argv[3]);
} catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
