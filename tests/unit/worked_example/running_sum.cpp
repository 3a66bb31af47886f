// region: description
#include "running_sum.hpp"

namespace worked_example {

void running_sum::describe(troupe::description<running_sum>& d) {
  const troupe::extent n = d.size("n");
  d.about("Sums up as it goes: y[i] = x[0] + … + x[i].");
  d.reads("x", &running_sum::x, {n}, "numbers");
  d.writes("y", &running_sum::y, {n}, "sum of each number and all before it");
  d.same_type({&running_sum::x, &running_sum::y}, {troupe::dtype::f32});
}
// endregion: description

// region: executor
namespace {

troupe::result<double> run(const running_sum& request, troupe::lane_context&) {
  const float* x = request.x.data<float>();
  float* y = request.y.data<float>();
  double sum = 0.0;
  for (std::int64_t i = 0; i < request.x.extent(0); ++i) {
    sum += static_cast<double>(x[i * request.x.stride(0)]);
    y[i * request.y.stride(0)] = static_cast<float>(sum);
  }
  return sum;
}

}  // namespace

void add_operations(troupe::operation_table& operations) {
  // Takes as long as its vectors are: small ones are run without a hand-over to another thread.
  operations.add(&run, troupe::effort::by_size);
}

}  // namespace worked_example
// endregion: executor
