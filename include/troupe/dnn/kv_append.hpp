#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <string_view>
#include <vector>

namespace troupe::dnn {

/// Copies keys and values of new tokens into rows of pages: rows_k[i] = k[i] and rows_v[i] = v[i].
///
/// Reads k [pieces, n, h_k, d] and v [pieces, n, h_v, d_v]; writes `pieces` views each of rows_k
/// [n, h_k, d] and rows_v [n, h_v, d_v], which are apart from each other. Any strides; k and rows_k
/// have one type of any kind, v and rows_v have one. So a request overwrites exactly the rows that
/// it names, may be repeated, and a fault leaves none but these undefined. `kv_cache` sends it.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`
struct TROUPE_EXPORT kv_append {
  static constexpr std::string_view name = "dnn.kv_append";
  using reply = void;

  any_tensor k{};
  any_tensor v{};
  std::vector<any_tensor> rows_k{};
  std::vector<any_tensor> rows_v{};

  static void describe(description<kv_append>& d);
};

}  // namespace troupe::dnn
