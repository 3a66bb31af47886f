#include "operations.hpp"

#include <troupe/plugin/accelerator.hpp>

namespace troupe::test {
namespace {

std::int64_t& at(const any_tensor& t, std::int64_t i) {
  return t.data<std::int64_t>()[i * t.stride(0)];
}

// On queues, the work before it may not have run yet.
result<void> catch_up(lane_context& lane) {
  auto* const queue = dynamic_cast<accelerator_lane*>(&lane);
  return queue != nullptr ? queue->finish() : result<void>();
}

result<std::int64_t> run_add(const add& r, lane_context& lane) {
  if (auto done = catch_up(lane); !done) return std::move(done).error();
  for (std::int64_t i = 0; i < r.x.extent(0); ++i)
    at(r.x, i) += r.value;
  return at(r.x, 0);
}

result<void> run_scale(const scale& r, lane_context& lane) {
  if (auto done = catch_up(lane); !done) return done;
  for (std::int64_t i = 0; i < r.x.extent(0); ++i)
    at(r.y, i) = r.factor * at(r.x, i);
  return {};
}

result<void> run_put(const put& r, lane_context& lane) {
  if (auto done = catch_up(lane); !done) return done;
  for (std::int64_t i = 0; i < r.x.extent(0); ++i)
    at(r.table, at(r.indices, i)) = at(r.x, i);
  return {};
}

}  // namespace

void add::describe(description<add>& d) {
  d.about("Adds a number to each element.");
  d.updates("x", &add::x, {d.size("n")}, "numbers");
  d.value("value", &add::value, "what is added");
  d.same_type({&add::x}, {dtype::i64});
}

void scale::describe(description<scale>& d) {
  const extent n = d.size("n");
  d.about("Multiplies each element: y = factor · x.");
  d.reads("x", &scale::x, {n}, "numbers");
  d.writes("y", &scale::y, {n}, "multiples");
  d.value("factor", &scale::factor, "factor");
  d.same_type({&scale::x, &scale::y}, {dtype::i64});
}

void put::describe(description<put>& d) {
  const extent n = d.size("n");
  d.about("Overwrites elements: table[indices[i]] = x[i].");
  d.reads("x", &put::x, {n}, "numbers");
  d.reads("indices", &put::indices, {n}, "their places");
  d.updates("table", &put::table, {d.size("size")}, "numbers of which some are overwritten");
  d.same_type({&put::x, &put::indices, &put::table}, {dtype::i64});
}

void add_operations(operation_table& operations) {
  operations.add(&run_put, effort::by_size);
  operations.add(&run_add, effort::by_size);
  operations.add(&run_scale, effort::by_size);
}

}  // namespace troupe::test
