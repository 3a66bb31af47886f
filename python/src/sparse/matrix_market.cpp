// Matrix Market files: `troupe.sparse.read_matrix_market` and `SparseMatrix.write_matrix_market`.
#include "binding.hpp"
#include "device/device_handle.hpp"
#include "dtypes.hpp"
#include "tensor.hpp"

#include <troupe/sparse/matrix_market.hpp>

#include <complex>
#include <cstring>
#include <string>
#include <vector>

namespace troupe::python {
namespace {

template <class T>
std::vector<T> elements_of(nb::handle array) {
  const held_buffer buffer(array, PyBUF_C_CONTIGUOUS);
  std::vector<T> all(buffer.bytes().size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), buffer.bytes().data(), all.size() * sizeof(T));
  return all;
}

/// The extents and tensors of a csr matrix on the device.
nb::tuple read(nb::handle device, const std::string& file, nb::handle values, nb::handle indices) {
  const device_ref& handle = handle_of(device);
  const dtype value_type = dtype_from(values);
  const dtype index_type = dtype_from(indices);
  troupe::device on = handle->in_order();
  const auto a = value_of(without_gil([&]() -> result<sparse_matrix> {
    auto found = sparse::read_matrix_market(file);
    if (!found) return std::move(found).error();
    return sparse::to_device(on, *found, value_type, index_type);
  }));
  return nb::make_tuple(a.rows, a.columns, py_tensor{a.offsets, handle},
                        py_tensor{a.indices, handle}, py_tensor{a.values, handle});
}

/// Arrays of i64, i64 and c128.
void write(const std::string& file, std::int64_t rows, std::int64_t columns, bool is_complex,
           nb::handle row_indices, nb::handle column_indices, nb::handle values) {
  const sparse::coordinates a{.rows = rows,
                              .columns = columns,
                              .is_complex = is_complex,
                              .row_indices = elements_of<std::int64_t>(row_indices),
                              .column_indices = elements_of<std::int64_t>(column_indices),
                              .values = elements_of<std::complex<double>>(values)};
  value_of(without_gil([&] { return sparse::write_matrix_market(a, file); }));
}

}  // namespace

void add_matrix_market(nb::module_& m) {
  m.def("read_matrix_market", &read);
  m.def("write_matrix_market", &write);
}

}  // namespace troupe::python
