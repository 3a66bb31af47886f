// A network whose matrices are cut between two devices: its logits are those of one device, also
// when a worker is killed in the middle.
//
//   example_tensor_parallel

#include "linear.hpp"

#include <troupe/parallel.hpp>
#include <troupe/troupe.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace {

using tensor_parallel::column_linear;
using tensor_parallel::on_ranks;
using tensor_parallel::row_linear;
using troupe::any_tensor;

constexpr std::int64_t rows = 32, width = 64, hidden = 512, classes = 100;
constexpr int passes = 20;
constexpr int disturbed_pass = 10;

class numbers {
 public:
  any_tensor operator()(troupe::device on, const troupe::shape& extents, double bound) {
    any_tensor made = on.tensor<float>(extents).value();
    std::vector<float> all(static_cast<std::size_t>(made.count()));
    for (float& one : all)
      one = static_cast<float>(bound * (std::ldexp(double(random_()), -31) - 1));
    on.copy(all, made).get();
    return made;
  }

 private:
  std::mt19937 random_{1};
};

/// The logits that the last rank has after each pass.
std::vector<float> logits(const troupe::world& all, bool with_kill) {
  numbers draw;
  troupe::device first = all.rank(0);
  // region: network
  const column_linear up(all, draw(first, {hidden, width}, 0.2), draw(first, {hidden}, 0.1));
  const row_linear down(all, draw(first, {hidden, width}, 0.1), draw(first, {width}, 0.1));
  const column_linear wide(all, draw(first, {hidden, width}, 0.2), draw(first, {hidden}, 0.1));
  const row_linear head(all, draw(first, {hidden, classes}, 0.1), draw(first, {classes}, 0.1));
  const std::array input{draw(first, {rows, width}, 1)};
  on_ranks x;
  for (const auto& of_rank : troupe::parallel::replicate(all, input).value().on)
    x.push_back(of_rank[0]);
  const on_ranks y = head(wide(down(up(x))));
  // endregion: network
  std::vector<float> got;
  std::vector<float> of_pass(static_cast<std::size_t>(rows * classes));
  troupe::device last = all.rank(all.size() - 1);
  for (int pass = 0; pass < passes; ++pass) {
    const on_ranks h = down(up(x));
    if (with_kill && pass == disturbed_pass) {
      if (const auto worker = last.worker_pid()) kill(*worker, SIGKILL);
    }
    last.copy(head(wide(h)).back(), of_pass).get();
    got.insert(got.end(), of_pass.begin(), of_pass.end());
  }
  last.copy(y.back(), of_pass).get();
  if (!std::equal(of_pass.begin(), of_pass.end(), got.begin())) got.clear();
  return got;
}

int run() {
  troupe::system system;
  const troupe::device_config config{.backend = troupe::backend_kind::cpu};
  const troupe::world both = system.world({system.device(0, config), system.device(1, config)});
  const auto on_two = logits(both, false);
  const std::uint64_t before = both.rank(1).generation();
  const auto disturbed = logits(both, true);
  const std::uint64_t lost = both.rank(1).generation() - before;
  const auto on_one = logits(both.subset({0}), false);
  float most = 0, largest = 0;
  for (std::size_t i = 0; i < on_one.size(); ++i) {
    most = std::max(most, std::abs(on_one[i] - on_two[i]));
    largest = std::max(largest, std::abs(on_one[i]));
  }
  std::cout << on_two.size() << " logits up to " << largest << ", on one device at most " << most
            << " different\n"
            << lost << " worker lost, logits "
            << (on_two == disturbed ? "the same to the bit\n" : "NOT the same\n");
  const bool right = on_two == disturbed && on_one.size() == on_two.size() && most < 1e-4F;
  return right && lost == 1 && largest > 0.5F ? 0 : 1;
}

}  // namespace

int main() try { return run(); } catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
