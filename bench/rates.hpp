#pragma once

#include "placement.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace troupe::bench {

[[nodiscard]] inline std::vector<float> random_numbers(std::int64_t count) {
  std::mt19937 random(20261125);
  std::normal_distribution<float> number;
  std::vector<float> all(static_cast<std::size_t>(count));
  std::ranges::generate(all, [&] { return number(random); });
  return all;
}

/// Takes both in turn and adds the rates, in elements.
template <class Theirs, class Ours>
void measure_rates(report& out, const std::string& name, const std::string& reference,
                   double elements, double limit, Theirs&& theirs, Ours&& ours) {
  constexpr int turns = 20;
  samples raw;
  samples own;
  placement processors;
  for (int turn = 0; turn < turns; ++turn) {
    processors.move();
    theirs();
    raw.take(3, theirs);
    ours();
    own.take(3, ours);
  }
  out.add({name, elements / own.median() * 1e-3, "1e9/s", reference, elements / raw.median() * 1e-3,
           ratio_at_least(limit)});
}

}  // namespace troupe::bench
