// π from random points, in pieces, with a worker that crashes on the way: the stream goes on bit
// for bit, so the answer is the one that an undisturbed run gives.

#include <troupe/fault.hpp>
#include <troupe/rng.hpp>
#include <troupe/troupe.hpp>

#include <iostream>
#include <span>
#include <vector>

namespace {

constexpr std::int64_t points = 50'000;

std::int64_t inside_circle(std::span<const float> values) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < values.size(); i += 2)
    count += values[i] * values[i] + values[i + 1] * values[i + 1] <= 1 ? 1 : 0;
  return count;
}

void crash(const troupe::device& gpu) {
  const troupe::fault::inject fault{.what = troupe::fault::kind::segmentation_fault};
  std::cout << "a worker ends: " << gpu.ask(fault).get_result().error().code_name << '\n';
}

std::int64_t count(troupe::device& gpu, bool with_crash) {
  std::vector<float> values(2 * points);
  std::int64_t inside = 0;
  // region: stream
  auto x = gpu.tensor<float>({points, 2}).value();
  // The program holds the place in the stream and requests carry it along; workers know nothing.
  troupe::rng::generator stream({.seed = 2026});
  for (int piece = 0; piece < 8; ++piece) {
    gpu.ask(stream.draw(troupe::rng::uniform{.to = x, .low = -1, .high = 1})).get();
    gpu.copy(x, std::span(values)).get();
    inside += inside_circle(values);
    if (with_crash && piece == 3) crash(gpu);
  }
  // endregion: stream
  return inside;
}

}  // namespace

int main() try {
  troupe::system system;
  troupe::device gpu = system.device(0, {.fault_injection = true});
  const std::int64_t disturbed = count(gpu, true);
  const std::int64_t undisturbed = count(gpu, false);
  std::cout << "pi is about " << 4.0 * static_cast<double>(disturbed) / (8.0 * points)
            << (disturbed == undisturbed ? ", with a crash and without\n" : "; they differ\n");
  return disturbed == undisturbed ? 0 : 1;
} catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
