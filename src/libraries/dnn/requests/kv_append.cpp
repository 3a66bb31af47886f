#include <troupe/dnn/kv_append.hpp>
#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::dnn {
namespace {

void one_view_for_each_piece(argument_checks& check, const kv_append& r) {
  const auto counted = [&](std::string_view name, const std::vector<any_tensor>& rows) {
    check.rule(static_cast<std::int64_t>(rows.size()) == r.k.extent(0), errc::shape_mismatch, [&] {
      return fmt::format("{} must have one view for each of the {} pieces of k; it has {}", name,
                         r.k.extent(0), rows.size());
    });
  };
  counted("rows_k", r.rows_k);
  counted("rows_v", r.rows_v);
}

void types_are_kept(argument_checks& check, const kv_append& r) {
  const auto kept = [&](std::string_view name, const std::vector<any_tensor>& rows, operand from) {
    for (std::size_t i = 0; check.good() && i < rows.size(); ++i) {
      check.rule(rows[i].type() == from.view.type(), errc::type_mismatch, [&] {
        return fmt::format("{}[{}] must have the type of {}, {}; it is {}", name, i, from.name,
                           to_string(from.view.type()), to_string(rows[i].type()));
      });
    }
  };
  kept("rows_k", r.rows_k, {"k", r.k});
  kept("rows_v", r.rows_v, {"v", r.v});
}

struct written_rows {
  const any_tensor* view;
  std::string_view list;
  std::size_t place;
  std::uintptr_t begin;
  std::uintptr_t end;

  [[nodiscard]] std::string name() const { return fmt::format("{}[{}]", list, place); }
};

// Rows of pages mostly lie one behind another, which sorting shows; only what does not is compared
// pair by pair.
void rows_are_apart(argument_checks& check, const kv_append& r) {
  if (!check.good()) return;
  std::vector<written_rows> all;
  const auto add = [&](std::string_view list, const std::vector<any_tensor>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].empty()) continue;
      const auto [begin, end] = rows[i].reach();
      const auto address = reinterpret_cast<std::uintptr_t>(rows[i].address());
      all.push_back({&rows[i], list, i, address + static_cast<std::uintptr_t>(begin),
                     address + static_cast<std::uintptr_t>(end)});
    }
  };
  add("rows_k", r.rows_k);
  add("rows_v", r.rows_v);
  std::ranges::sort(all, {}, &written_rows::begin);
  const auto meets = std::ranges::adjacent_find(
      all, [](const written_rows& a, const written_rows& b) { return b.begin < a.end; });
  if (meets == all.end()) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size() && all[j].begin < all[i].end; ++j)
      check.apart({all[j].name(), *all[j].view}, {all[i].name(), *all[i].view});
  }
}

}  // namespace

void kv_append::describe(description<kv_append>& d) {
  using R = kv_append;
  const extent pieces = d.size("pieces");
  const extent n = d.size("n");
  const extent h_k = d.size("h_k");
  const extent h_v = d.size("h_v");
  const extent width_k = d.size("d");
  const extent width_v = d.size("d_v");
  d.about("Copies keys and values of new tokens into rows of pages.");
  d.reads("k", &R::k, {pieces, n, h_k, width_k}, "keys");
  d.reads("v", &R::v, {pieces, n, h_v, width_v}, "values");
  d.writes("rows_k", &R::rows_k, {n, h_k, width_k}, "where each piece of k goes");
  d.writes("rows_v", &R::rows_v, {n, h_v, width_v}, "where each piece of v goes");
  d.rule("there is one view for each piece", one_view_for_each_piece);
  d.rule("views have the types of k and v", types_are_kept);
  d.rule("no two views share an element", rows_are_apart);
}

}  // namespace troupe::dnn
