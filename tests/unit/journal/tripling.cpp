#include "tripling.hpp"

#include <troupe/plugin/accelerator.hpp>

#include <cstdlib>

namespace troupe::test {
namespace {

result<void> run_tripling(const tripling& r, lane_context& lane) {
  // On queues, the work before it may not have run yet.
  if (auto* const queue = dynamic_cast<accelerator_lane*>(&lane); queue != nullptr) {
    if (auto done = queue->finish(); !done) return done;
  }
  const char* const text =
      std::getenv(r.can_be_wrong ? wrong_where_asked_variable : wrong_from_variable);
  const std::int64_t wrong = text != nullptr ? std::atoll(text) : -1;
  for (std::int64_t i = 0; i < r.x.extent(0); ++i) {
    r.y.data<float>()[i * r.y.stride(0)] =
        3 * r.x.data<float>()[i * r.x.stride(0)] + (i == wrong ? 1.F : 0.F);
  }
  return {};
}

}  // namespace

void tripling::describe(description<tripling>& d) {
  const extent n = d.size("n");
  d.about("Multiplies each element by three.");
  d.reads("x", &tripling::x, {n}, "numbers");
  d.writes("y", &tripling::y, {n}, "three times these");
  d.value("can_be_wrong", &tripling::can_be_wrong, "wrong in some workers");
  d.same_type({&tripling::x, &tripling::y}, {dtype::f32});
}

void add_tripling(operation_table& operations) { operations.add(&run_tripling, effort::by_size); }

}  // namespace troupe::test
